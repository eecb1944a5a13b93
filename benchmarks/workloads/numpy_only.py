"""Train a two-layer network on scikit-learn's digits with NumPy alone."""
import argparse

import numpy as np
from marks import bench_mark
from sklearn.datasets import load_digits


class Network:
    def __init__(self, sizes, rng):
        self.weights = [rng.standard_normal((i, o)) / np.sqrt(i) for i, o in zip(sizes, sizes[1:])]
        self.biases = [np.zeros(o) for o in sizes[1:]]
        self.moments = [np.zeros_like(w) for w in self.weights]

    def forward(self, x):
        layers = [x]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1]):
            layers.append(np.maximum(layers[-1] @ weight + bias, 0))
        scores = layers[-1] @ self.weights[-1] + self.biases[-1]
        scores = np.exp(scores - scores.max(1, keepdims=True))
        return layers, scores / scores.sum(1, keepdims=True)

    def gradients(self, x, y):
        layers, shares = self.forward(x)
        loss = -np.log(shares[np.arange(len(y)), y] + 1e-12).mean()
        delta = shares.copy()
        delta[np.arange(len(y)), y] -= 1
        delta /= len(y)
        found = []
        for i in reversed(range(len(self.weights))):
            found.append((layers[i].T @ delta, delta.sum(0)))
            if i:
                delta = (delta @ self.weights[i].T) * (layers[i] > 0)
        return loss, found[::-1]

    def update(self, gradients, rate):
        for i, (weight, bias) in enumerate(gradients):
            self.moments[i] *= 0.9
            self.moments[i] += weight
            self.weights[i] -= rate * self.moments[i]
            self.biases[i] -= rate * bias


def train(network, x, y, rate, batch_size):
    order = np.random.permutation(len(x))
    total = 0.0
    for start in range(0, len(x), batch_size):  # [step loop]
        batch = order[start:start + batch_size]
        loss, gradients = network.gradients(x[batch], y[batch])
        # [inner probe]
        network.update(gradients, rate)
        total += loss * len(batch)
    return total / len(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()

    np.random.seed(args.seed)
    images, labels = load_digits(return_X_y=True)
    x, y = images / 16, labels
    network = Network([64, 512, 512, 10], np.random.default_rng(args.seed))
    best, rate = 0.0, args.rate
    bench_mark("loop-start")
    # [loop begin]
    for epoch in range(args.epochs):  # [epoch loop]
        # [epoch begin]
        loss = train(network, x[:1400], y[:1400], rate, args.batch_size)
        accuracy = (network.forward(x[1400:])[1].argmax(1) == y[1400:]).mean()
        best = max(best, accuracy)
        rate *= 0.93
        print(f"epoch {epoch}: loss {loss:.6f} accuracy {accuracy:.4f} best {best:.4f}")
        # [outer probe]
        # [epoch end]
    # [loop end]
    bench_mark("loop-end")
    print(f"best accuracy {best:.4f}")


if __name__ == "__main__":
    main()
