import torch
import torch.distributed as dist
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments

from sharded_trainer import ShardedTrainer


def main():
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    torch.cuda.set_device(args.local_rank)
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl")
    tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-1.5B")
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-1.5B", torch_dtype=torch.float32)
    rows = load_dataset("wikitext", "wikitext-2-v1", split="train")
    rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=1024), remove_columns=["text"])
    trainer = ShardedTrainer(model=model, args=args, train_dataset=rows, processing_class=tokenizer)
    trainer.shard()
    trainer.build_optimizer()
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
