"""Evaluates the first and the last language layer of a checkpoint in numpy, from the inputs that the engine had.

usage: scale_layers.py CHECKPOINT_FOLDER TRACE.safetensors
Prints a JSON object: for each output of the engine the root mean square of its error over the standard deviation of
numpy's value.
"""
import json
import struct
import sys

import numpy as np

PREFIX = 'paligemma_with_expert.paligemma.model.language_model.layers.'


class Safetensors:
    def __init__(self, path):
        self.data = np.memmap(path, np.uint8, 'r')
        (size,) = struct.unpack('<Q', self.data[:8].tobytes())
        self.header = json.loads(self.data[8 : 8 + size].tobytes())
        self.start = 8 + size

    def __getitem__(self, name):
        entry = self.header[name]
        begin, end = entry['data_offsets']
        raw = self.data[self.start + begin : self.start + end]
        if entry['dtype'] == 'BF16':
            values = (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = raw.view(np.float32)
        return values.reshape(entry['shape'])


def rms_norm(x, weight):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * (1 + weight)


def rotate(x, positions):
    """x [T, heads, d]: pairs (i, i + d/2) turn by position * 10000^(-2i/d)."""
    half = x.shape[-1] // 2
    angles = positions[:, None, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layer(weights, index, x, rows):
    """One Gemma layer over x [T, W], every token seeing all; keys, values, and the output of `rows`."""
    weight = lambda name: weights[f'{PREFIX}{index}.{name}.weight'].astype(np.float64)
    normed = rms_norm(x, weight('input_layernorm'))
    k = rotate((normed @ weight('self_attn.k_proj').T)[:, None], np.arange(len(x)))[:, 0]
    v = normed @ weight('self_attn.v_proj').T
    q = (normed[rows] @ weight('self_attn.q_proj').T).reshape(len(rows), -1, k.shape[1])
    scores = rotate(q, rows) @ k.T / np.sqrt(k.shape[1])
    attention = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attention /= attention.sum(axis=-1, keepdims=True)
    x = x[rows] + (attention @ v).reshape(len(rows), -1) @ weight('self_attn.o_proj').T
    normed = rms_norm(x, weight('post_attention_layernorm'))
    hidden = gelu(normed @ weight('mlp.gate_proj').T) * (normed @ weight('mlp.up_proj').T)
    return k, v, x + hidden @ weight('mlp.down_proj').T


def main(checkpoint, trace_path):
    weights, trace = Safetensors(f'{checkpoint}/model.safetensors'), Safetensors(trace_path)
    last = max(int(name.split('.')[1]) for name in trace.header if name.startswith('k.'))
    x, last_in = trace['x'].astype(np.float64), trace['last_layer_in'].astype(np.float64)
    errors = {}
    for index, inputs, output, rows in [
        (0, x, 'first_layer', np.arange(len(x))),
        (last, last_in, 'last_layer', np.array([len(x) - 1])),
    ]:
        for name, want in zip([f'k.{index}', f'v.{index}', output], layer(weights, index, inputs, rows)):
            errors[name] = float(np.sqrt(np.mean((trace[name] - want) ** 2)) / want.std())
    print(json.dumps(errors))


main(*sys.argv[1:])
