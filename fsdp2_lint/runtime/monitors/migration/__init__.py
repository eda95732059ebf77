"""What a job meets that some versions of torch do wrong."""
