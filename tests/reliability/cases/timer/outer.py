"""Training with a timer whose handler counts and writes, many times in every epoch."""
import random
import signal

ticks = 0


def tick(number, frame):
    global ticks
    ticks += 1
    with open("ticks.txt", "a") as stream:
        stream.write("x")


random.seed(1)
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
weights = [random.random() for _ in range(20)]
for epoch in range(6):
    for row in range(300):
        for k in range(20):
            weights[k] += 0.001 * (random.random() - weights[k])
    print(f"epoch {epoch} sum {sum(weights):.9f}", flush=True)
    print(f"probe {weights[1]:.9f}")
signal.setitimer(signal.ITIMER_REAL, 0)
print(f"end {weights[0]:.9f}")
