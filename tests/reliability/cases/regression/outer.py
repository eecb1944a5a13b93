"""A small regression without any library: two loops, a file a epoch, a history."""
import csv
import pickle
import random
import time

random.seed(3)
rows = [([random.random() for _ in range(8)], random.random()) for _ in range(120)]
weights = [random.uniform(-1, 1) for _ in range(8)]
history, best = [], None


def step(weights, row, target, rate):
    error = sum(w * x for w, x in zip(weights, row)) - target
    for k, x in enumerate(row):
        weights[k] -= rate * error * x
    return error * error


rate = 0.2
with open("metrics.csv", "w", newline="") as stream:
    csv.writer(stream).writerow(["epoch", "loss"])
for epoch in range(14):
    random.shuffle(rows)
    time.sleep(0.03)
    total = 0.0
    for row, target in rows * 10:
        total += step(weights, row, target, rate)
    print(f"probe weight {weights[1]:.9f} next {random.getstate()[1][-1]}")
    history.append(total / len(rows))
    rate *= 0.9
    if best is None or history[-1] < best:
        best = history[-1]
        with open("best.pickle", "wb") as stream:
            pickle.dump(weights, stream)
    with open("metrics.csv", "a", newline="") as stream:
        csv.writer(stream).writerow([epoch, total])
    print(f"epoch {epoch:2d} loss {history[-1]:.9f}", flush=True)
with open("best.pickle", "rb") as stream:
    weights = pickle.load(stream)
print(f"probe at the end {sum(history):.9f} {len(history)} {rate:.9f}")
print(f"best {best:.9f} weight {weights[0]:.9f}")
