from datasets import load_dataset


def load_corpus(tokenizer, length=1024):
    rows = load_dataset("wikitext", "wikitext-103-v1", split="train")

    def encode(row):
        return tokenizer(row["text"], truncation=True, max_length=length, padding="max_length")

    return rows.map(encode, remove_columns=rows.column_names)
