"""Regression on the diabetes data with the usual files: metrics.csv, ckpt.pt (resumed if there), summary."""
import argparse
import csv
import json
import os

import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes


def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--save-every", type=int, default=25)
    parser.add_argument("--seed", type=int, default=11)
    return parser.parse_args()


def split(seed):
    x, y = load_diabetes(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) * 20, torch.tensor(y, dtype=torch.float32)
    y = (y - y.mean()) / y.std()
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    train, val = order[:340], order[340:]
    return x[train], y[train], x[val], y[val]


def run_epoch(model, optimizer, x, y, batch_size, generator):
    model.train()
    total = 0.0
    for picked in torch.randperm(len(x), generator=generator).split(batch_size):
        loss = nn.functional.huber_loss(model(x[picked]).squeeze(1), y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(picked)
    return total / len(x)


def rmse(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).squeeze(1) - y).square().mean().sqrt().item()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    x_train, y_train, x_val, y_val = split(args.seed)

    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 64), nn.ReLU(),
                          nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=15)

    start, best = 0, {"epoch": -1, "rmse": float("inf")}
    os.makedirs(args.out, exist_ok=True)
    checkpoint = os.path.join(args.out, "ckpt.pt")
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        start, best = saved["epoch"] + 1, saved["best"]
        print(f"resumed at epoch {start}, best so far {best['rmse']:.4f}")
    else:
        print("starting afresh")

    metrics = os.path.join(args.out, "metrics.csv")
    with open(metrics, "a" if start else "w", newline="") as stream:
        writer = csv.writer(stream)
        if not start:
            writer.writerow(["epoch", "train", "val_rmse", "lr"])
        for epoch in range(start, args.epochs):
            loss = run_epoch(model, optimizer, x_train, y_train, args.batch_size, generator)
            val = rmse(model, x_val, y_val)
            scheduler.step(val)
            rate = optimizer.param_groups[0]["lr"]
            writer.writerow([epoch, f"{loss:.6f}", f"{val:.6f}", rate])
            if val < best["rmse"]:
                best = {"epoch": epoch, "rmse": val}
                torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))
            if (epoch + 1) % args.save_every == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "scheduler": scheduler.state_dict(), "epoch": epoch, "best": best}, checkpoint)
                print(f"epoch {epoch}: train {loss:.5f}  val rmse {val:.5f}  lr {rate:g}  saved")

    with open(os.path.join(args.out, "summary.json"), "w") as stream:
        json.dump({"best": best, "epochs": args.epochs}, stream)
    model.load_state_dict(torch.load(os.path.join(args.out, "best.pt")))
    with open(metrics, newline="") as stream:
        rows = list(csv.DictReader(stream))
    print(f"{len(rows)} rows in {os.path.basename(metrics)}; best epoch {best['epoch']}, "
          f"val rmse {best['rmse']:.5f}, read back {rmse(model, x_val, y_val):.5f}")


if __name__ == "__main__":
    main()
