"""A two-layer net on Iris, by hand in NumPy: forward, backward, momentum, no framework."""
import argparse
import random

import numpy as np
from sklearn.datasets import load_iris


class Dense:
    """A linear layer that remembers its input, its gradients and their velocity."""

    def __init__(self, n_in, n_out, rng):
        self.w = rng.normal(0, np.sqrt(2 / n_in), (n_in, n_out))
        self.b = np.zeros(n_out)
        self.vw, self.vb = np.zeros_like(self.w), np.zeros_like(self.b)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, grad):
        self.gw, self.gb = self.x.T @ grad, grad.sum(0)
        return grad @ self.w.T

    def step(self, lr, momentum, decay):
        self.vw = momentum * self.vw - lr * (self.gw + decay * self.w)
        self.vb = momentum * self.vb - lr * self.gb
        self.w += self.vw
        self.b += self.vb


class Net:
    def __init__(self, sizes, dropout, rng):
        self.layers = [Dense(a, b, rng) for a, b in zip(sizes, sizes[1:])]
        self.dropout = dropout

    def forward(self, x, train=False):
        self.masks = []
        for layer in self.layers[:-1]:
            x = np.maximum(layer.forward(x), 0)
            keep = (np.random.rand(*x.shape) > self.dropout) / (1 - self.dropout) if train else 1.0
            self.masks.append((x > 0) * keep)
            x = x * keep
        z = self.layers[-1].forward(x)
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def backward(self, grad):
        grad = self.layers[-1].backward(grad)
        for layer, mask in zip(reversed(self.layers[:-1]), reversed(self.masks)):
            grad = layer.backward(grad * mask)

    def step(self, lr, momentum, decay):
        for layer in self.layers:
            layer.step(lr, momentum, decay)


def cross_entropy(p, y):
    return -np.log(p[np.arange(len(y)), y] + 1e-12).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    random.seed(args.seed)
    np.random.seed(args.seed)
    rng = np.random.default_rng(args.seed)

    x, y = load_iris(return_X_y=True)
    x = (x - x.mean(0)) / x.std(0)
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    x_train, y_train, x_val, y_val = x[:110], y[:110], x[110:], y[110:]

    net = Net([4, args.hidden, args.hidden, 3], 0.2, rng)
    lr, best, since = args.lr, float("inf"), 0
    history = []
    for epoch in range(args.epochs):
        picked = list(range(len(x_train)))
        random.shuffle(picked)
        total = 0.0
        for start in range(0, len(picked), args.batch_size):
            batch = picked[start:start + args.batch_size]
            xb = x_train[batch] + rng.normal(0, 0.05, (len(batch), 4))
            p = net.forward(xb, train=True)
            total += cross_entropy(p, y_train[batch]) * len(batch)
            p[np.arange(len(batch)), y_train[batch]] -= 1
            net.backward(p / len(batch))
            net.step(lr, 0.9, 1e-4)
        p = net.forward(x_val)
        val, accuracy = cross_entropy(p, y_val), (p.argmax(1) == y_val).mean()
        history.append((total / len(x_train), val, accuracy))
        if val < best:
            best, since = val, 0
        else:
            since += 1
        if since == 25:  # reduce on plateau
            lr, since = lr / 2, 0
        if epoch % 10 == 0:
            print("epoch %3d  train %.5f  val %.5f  acc %.3f  lr %.5f" % (epoch, *history[-1], lr))

    print(f"best val {best:.5f} in epoch {min(range(len(history)), key=lambda i: history[i][1])}")
    print("mean accuracy of the last five epochs %.4f" % np.mean([h[2] for h in history[-5:]]))


if __name__ == "__main__":
    main()
