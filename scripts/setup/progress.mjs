// One line per step on stderr: its name and how long it took. On a terminal the newest line of output beside it.

const FRAMES = ['|', '/', '-', '\\'];

const seconds = since => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Shows one running step; `note` the newest output, then `end` with the word that stays. */
export const showStep = (name, stream = process.stderr) => {
  const start = performance.now();
  const label = `  ${name.padEnd(24)}`;
  let note = '';
  let turn = 0;
  const draw = () => {
    const text = `${label} ${FRAMES[turn++ % FRAMES.length]} ${seconds(start)}  ${note}`;
    stream.write(`\r\x1b[K${text.slice(0, (stream.columns ?? 80) - 1)}`);
  };
  const timer = stream.isTTY ? setInterval(draw, 120) : undefined;
  if (!stream.isTTY) stream.write(`${label} `);
  return {
    note: line => {
      note = line.replace(/\x1b\[[0-9;]*m|[\r\n]/g, '');
    },
    end: word => {
      clearInterval(timer);
      stream.write(
        stream.isTTY ? `\r\x1b[K${label} ${word} ${seconds(start)}\n` : `${word} ${seconds(start)}\n`,
      );
    },
  };
};
