"""Where parameters are before training, and what they hold."""
