"""Training that is asked to stop, or bounds each epoch's time, by signals. Usage: train.py MODE"""
import random
import signal
import sys
import time


class Timeout(Exception):
    pass


def ask_to_stop(number, frame):
    global stop
    stop = True
    print("asked to stop", flush=True)


def time_is_up(number, frame):
    raise Timeout


mode = sys.argv[1]
random.seed(5)
rows = [[random.random() for _ in range(6)] for _ in range(100)]
weights = [random.uniform(-1, 1) for _ in range(6)]
stop, caught = False, 0
if mode == "flag":
    signal.signal(signal.SIGINT, ask_to_stop)
if mode == "timeout":
    signal.signal(signal.SIGINT, time_is_up)


def train(total):
    for row in rows * 10:
        error = sum(w * x for w, x in zip(weights, row)) - 0.5
        for k, x in enumerate(row):
            weights[k] -= 0.01 * error * x
        total += error * error
    return total


def main():
    global caught
    for epoch in range(12):
        total = 0.0
        try:
            time.sleep(0.02)
            for part in range(3):
                total = train(total)
        except Timeout:
            caught += 1
        print(f"epoch {epoch} total {total:.9f} weight {weights[1]:.9f} caught {caught}", flush=True)
        if stop:
            break
    print(f"end {epoch} weight {weights[2]:.9f} caught {caught}", flush=True)


if mode == "caught":
    try:
        main()
    except KeyboardInterrupt:
        print("given up", flush=True)
    print(f"weight {weights[3]:.9f}", flush=True)
else:
    main()
