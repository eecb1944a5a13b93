"""A GAN on scikit-learn's digits: two nets, two optimizers, a fixed noise vector to look at."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--niter", type=int, default=25, help="number of epochs to train for")
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--nz", type=int, default=16, help="size of the latent vector")
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--lr", type=float, default=2e-4)
parser.add_argument("--seed", type=int, default=3)
opt = parser.parse_args()

np.random.seed(opt.seed)
torch.manual_seed(opt.seed)
torch.set_num_threads(1)

digits = load_digits().images.astype(np.float32) / 8 - 1  # to [-1, 1], as tanh gives them
dataset = TensorDataset(torch.from_numpy(digits).flatten(1))
loader = DataLoader(dataset, batch_size=opt.batch_size, shuffle=True, drop_last=True)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(opt.nz, opt.width), nn.BatchNorm1d(opt.width), nn.ReLU(True),
            nn.Linear(opt.width, 2 * opt.width), nn.BatchNorm1d(2 * opt.width), nn.ReLU(True),
            nn.Linear(2 * opt.width, 64), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(64, 2 * opt.width), nn.LeakyReLU(0.2, inplace=True), nn.Dropout(0.3),
            nn.Linear(2 * opt.width, opt.width), nn.LeakyReLU(0.2, inplace=True), nn.Dropout(0.3),
            nn.Linear(opt.width, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.05)
        nn.init.zeros_(m.bias)


netG = Generator().apply(weights_init)
netD = Discriminator().apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=4 * opt.lr, betas=(0.5, 0.999))
fixed_noise = torch.randn(64, opt.nz)

G_losses = []
D_losses = []
for epoch in range(opt.niter):
    for i, (real,) in enumerate(loader):
        # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        label = torch.full((len(real),), 0.9)  # smoothed
        output = netD(real + 0.05 * torch.randn_like(real))
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.sigmoid().mean().item()

        fake = netG(torch.randn(len(real), opt.nz))
        label.fill_(0.0)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        D_G_z1 = output.sigmoid().mean().item()
        errD = errD_real + errD_fake
        optimizerD.step()

        # (2) update G: maximize log(D(G(z)))
        netG.zero_grad()
        label.fill_(1.0)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()
        D_G_z2 = output.sigmoid().mean().item()
        optimizerG.step()

        G_losses.append(errG.item())
        D_losses.append(errD.item())
        if i % 14 == 0:
            print(f"[{epoch}/{opt.niter}][{i}/{len(loader)}] "
                  f"Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f} "
                  f"D(x): {D_x:.4f} D(G(z)): {D_G_z1:.4f} / {D_G_z2:.4f}")
    netG.eval()
    with torch.no_grad():
        ink = (netG(fixed_noise) + 1) / 2
    netG.train()
    print(f"  epoch {epoch}: ink of the fixed noise {ink.mean().item():.6f} +- {ink.std().item():.6f}, "
          f"mean Loss_G {np.mean(G_losses[-len(loader):]):.6f}")
print(f"{len(G_losses)} steps, lowest Loss_D {min(D_losses):.6f}")

netG.eval()
with torch.no_grad():
    fake = netG(fixed_noise)
real_mean, fake_mean = digits.reshape(-1, 64).mean(0), fake.numpy().mean(0)
print(f"distance between the mean images: {np.abs(real_mean - fake_mean).mean():.4f}")
for row in fake[0].view(8, 8).tolist():
    print("".join(" .:-=+*#%@"[min(9, int((v + 1) * 5))] for v in row).rstrip())
