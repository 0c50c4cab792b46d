import fc from 'fast-check';
import { PlayClock } from '../../src/core/play-clock';

const S = 1_000_000_000n;

test('play time is ROS time at speed 1, and falls behind from each slower stretch on', () => {
  const clock = new PlayClock();
  expect(clock.at(1_700_000_000n * S + 7n)).toBe(1_700_000_000n * S + 7n);
  clock.setSpeed(0.5, 100n * S);
  clock.setSpeed(0, 110n * S);
  clock.setSpeed(0.25, 120n * S);
  expect([90n, 100n, 104n, 110n, 115n, 120n, 124n].map(t => clock.at(t * S) / S)).toEqual([
    90n,
    100n,
    102n,
    105n,
    105n,
    105n,
    106n,
  ]);
  expect(clock.speed).toBe(0.25);
});

test('it is the integral of the speed, never runs back, and does not depend on when it is asked', () => {
  const changes = fc.array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 500 }),
      speed: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(changes, list => {
      const clock = new PlayClock();
      const asked: [bigint, bigint][] = [];
      let nowNs = 5n * S;
      let expected = 5e9;
      for (const { afterMs, speed } of list) {
        const stepNs = BigInt(afterMs) * 1_000_000n;
        expected += Number(stepNs) * clock.speed;
        nowNs += stepNs;
        clock.setSpeed(speed, nowNs);
        asked.push([nowNs, clock.at(nowNs)]);
        expect(Math.abs(Number(clock.at(nowNs)) - expected)).toBeLessThan(1000);
      }
      let before = -1n;
      for (const [rosNs, playNs] of asked) {
        expect(clock.at(rosNs)).toBe(playNs);
        expect(playNs).toBeGreaterThanOrEqual(before);
        before = playNs;
      }
    }),
  );
});

test('60 s of changes are remembered', () => {
  const clock = new PlayClock();
  const asked: [bigint, bigint][] = [];
  for (let n = 0; n < 200; n++) {
    const nowNs = 1000n * S + BigInt(n) * S;
    clock.setSpeed((n % 7) / 7, nowNs);
    asked.push([nowNs, clock.at(nowNs)]);
  }
  for (const [rosNs, playNs] of asked.slice(-60)) expect(clock.at(rosNs)).toBe(playNs);
});
