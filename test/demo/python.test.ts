import { pythonTests } from './support';

test.each(['sim_test.py', 'score_test.py', 'sample_test.py'])('%s', async file => {
  expect(await pythonTests(file)).toMatch(/^Ran [1-9]\d* tests? in [\s\S]*\nOK\n$/m);
});
