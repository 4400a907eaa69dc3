"""ResNet18 for small images in PyTorch, with the tensor names of `ConvNet::resnet18`."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or before != channels:
            convolution = nn.Conv2d(before, channels, 1, stride, bias=False)
            self.downsample = nn.Sequential(convolution, nn.BatchNorm2d(channels))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet18(nn.Module):
    def __init__(self, channels=1, classes=10, width=16, mean=0.0, deviation=1.0):
        super().__init__()
        self.mean, self.deviation = mean, deviation
        self.conv1 = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        before = width
        for stage in range(4):
            after = width << stage
            first = Block(before, after, 1 if stage == 0 else 2)
            setattr(self, f"layer{stage + 1}", nn.Sequential(first, Block(after, after, 1)))
            before = after
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = (x - self.mean) / self.deviation
        x = torch.relu(self.bn1(self.conv1(x)))
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))
