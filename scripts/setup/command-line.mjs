// The command line of the scripts for developers: help, and what is wrong with the line, before anything begins.
import { parseArgs } from 'node:util';

/**
 * Options and operands. Ends the process with the usage where it was asked for (code 0) or the line is wrong (2).
 * @param options as for parseArgs; --help is added
 * @param operands the least and the most of them
 * @returns what parseArgs returns
 */
export const readCommandLine = (usage, { options = {}, operands: [least, most] = [0, 0] }) => {
  const refuse = what => {
    console.error(`${what}\n\n${usage}`);
    process.exit(2);
  };
  const parsed = parse(options, refuse);
  if (parsed.values.help) {
    console.log(usage);
    process.exit(0);
  }
  const { length } = parsed.positionals;
  if (length < least) refuse('An operand is missing');
  if (length > most) refuse(`There is no use for ${parsed.positionals.slice(most).join(' ')}`);
  return parsed;
};

const parse = (options, refuse) => {
  try {
    return parseArgs({ options: { ...options, help: { type: 'boolean' } }, allowPositionals: true });
  } catch (error) {
    return refuse(error.message);
  }
};
