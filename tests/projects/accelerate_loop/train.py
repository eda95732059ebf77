import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator

from corpus import load_corpus
from sharding import make_accelerator
from teacher import load_teacher, soft_targets


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--student", default="meta-llama/Llama-3.2-1B")
    parser.add_argument("--teacher", default="meta-llama/Llama-3.1-8B")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--output", default="student")
    args = parser.parse_args()

    accelerator = make_accelerator(args.accumulate)
    tokenizer = AutoTokenizer.from_pretrained(args.student)
    model = AutoModelForCausalLM.from_pretrained(args.student)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    loader = DataLoader(load_corpus(tokenizer), batch_size=2, shuffle=True, collate_fn=default_data_collator)
    # given together: the accelerator exchanges the optimizer's parameters for the sharded ones
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    teacher = load_teacher(args.teacher)

    for _ in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
                targets = soft_targets(teacher, batch, args.temperature)
                loss = F.kl_div(F.log_softmax(logits.float(), dim=-1), targets, reduction="batchmean")
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            print(f"loss {loss.item():.4f}")

    state = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained(args.output, state_dict=state)
    accelerator.end_training()


if __name__ == "__main__":
    main()
