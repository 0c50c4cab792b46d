/** The libraries that models were trained with, in a Python process. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const python = join(__dirname, '../../.venv/bin/python');

export interface PeerRequest {
  readonly library: 'tokenizers' | 'sentencepiece' | 'trainer';
  readonly path: string;
  readonly texts: readonly string[];
  readonly ids?: readonly (readonly number[])[];
  readonly options?: object;
}

export interface PeerAnswer {
  readonly ids: number[][];
  readonly texts: string[];
}

export function askPeer(...requests: readonly PeerRequest[]): Promise<PeerAnswer[]> {
  return new Promise((resolve, reject) => {
    const script = join(__dirname, 'tokenizer_peer.py');
    const child = execFile(python, [script], { maxBuffer: 1 << 28 }, (error, stdout) => {
      if (error) reject(error);
      else
        resolve(
          stdout
            .split('\n')
            .filter(Boolean)
            .map(line => JSON.parse(line) as PeerAnswer),
        );
    });
    // When it ends early its exit says why.
    child.stdin!.on('error', () => undefined);
    child.stdin!.end(requests.map(request => JSON.stringify(request)).join('\n'));
  });
}
