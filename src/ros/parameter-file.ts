/**
 * Reads a ROS 2 parameter file as rcl does when the node starts (its parser tells the first fault only, without the
 * parameter): nodes, their parameters with the type that ROS gives them, and everything that rcl would refuse.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type ParsedNode,
  type YAMLSeq,
} from 'yaml';
import { plainScalar } from './parameter-scalar';
import { refusedYaml } from './yaml-guard';

export interface GivenParameter {
  /** Nested names are joined: `a: {b: 1}` is `a.b`. */
  readonly name: string;
  /** string, boolean, bigint (integer), number (double), or an array of these. */
  readonly value: unknown;
  readonly line: number;
}

export interface ParameterSection {
  /** Full name or pattern, e.g. `/arm/oxygen`, `/**`. */
  readonly node: string;
  readonly parameters: readonly GivenParameter[];
}

export interface ParameterFile {
  readonly sections: readonly ParameterSection[];
  /** `line 3: ...`; with any of them no node that gets this file starts. */
  readonly faults: readonly string[];
}

/** Whether a section is for a node of that name, in whatever namespace. */
export const reaches = (section: ParameterSection, node: string): boolean =>
  [node, '*', '**'].includes(section.node.split('/').at(-1) ?? '');

const PARAMETERS_KEY = 'ros__parameters';
const NAME_PART = /^(?:[A-Za-z_]\w*|\*{1,2})$/;

export function parseParameterFile(text: string): ParameterFile {
  const refused = refusedYaml(text);
  return refused === null ? new Reader().read(text) : { sections: [], faults: [`the file ${refused}`] };
}

class Reader {
  readonly #lines = new LineCounter();
  readonly #sections: ParameterSection[] = [];
  readonly #faults: string[] = [];

  read(text: string): ParameterFile {
    const options = { schema: 'failsafe', lineCounter: this.#lines, logLevel: 'silent' } as const;
    // Every scalar a string: YAML's own ideas of types are not those of ROS.
    const documents = parseAllDocuments<ParsedNode>(text, options);
    for (const document of 'empty' in documents ? [] : documents) {
      for (const { pos, message } of document.errors)
        this.#faultAt(pos[0], message.split('\n')[0] ?? message);
      if (document.errors.length === 0) this.#nodes(document.contents, []);
    }
    return { sections: this.#sections, faults: this.#faults };
  }

  /** `parts`: namespace and node name so far. */
  #nodes(node: ParsedNode | null, parts: readonly string[]): void {
    if (!isMap(node)) {
      const what = parts.length === 0 ? 'the file' : parts.join('/');
      return this.#fault(
        node,
        `${what} must hold ${parts.length === 0 ? 'nodes' : PARAMETERS_KEY}, found a single value`,
      );
    }
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (name !== PARAMETERS_KEY) this.#nodes(value, [...parts, name]);
      else if (isMap(value)) this.#section(key, value, parts);
      else this.#fault(key, `${PARAMETERS_KEY} of ${parts.join('/')} must hold names and values`);
    }
  }

  #section(key: ParsedNode, value: ParsedNode, parts: readonly string[]): void {
    const path = parts.join('/').replace(/^\//, '');
    const odd = path.split('/').find(part => !NAME_PART.test(part));
    if (odd !== undefined) {
      this.#fault(
        key,
        `${parts.join('/') || PARAMETERS_KEY}: ${JSON.stringify(odd)} is no name of a node or namespace`,
      );
    }
    this.#sections.push({ node: `/${path}`, parameters: this.#parameters(value, '') });
  }

  #parameters(node: ParsedNode, prefix: string): GivenParameter[] {
    if (!isMap(node)) return [];
    return node.items.flatMap(({ key, value }) => {
      const name = prefix + (isScalar(key) ? String(key.value) : '?');
      if (isMap(value)) return this.#parameters(value as ParsedNode, `${name}.`);
      return [{ name, value: this.#value(value, name, key), line: this.#line(key) }];
    });
  }

  #value(node: ParsedNode | null, name: string, key: ParsedNode): unknown {
    if (isSeq(node)) return this.#list(node, name, key);
    if (isAlias(node)) this.#fault(node, `${name} is an alias; ROS 2 knows none, write the value out`);
    if (!isScalar(node)) return undefined;
    const text = String(node.source ?? node.value);
    if (node.type !== 'PLAIN' || node.tag === 'tag:yaml.org,2002:str') return text;
    if (text === '') this.#fault(key, `${name} has no value`);
    return text === '' ? undefined : plainScalar(text);
  }

  #list(node: YAMLSeq.Parsed, name: string, key: ParsedNode): unknown[] {
    const values = node.items.map(item => this.#value(item, name, key));
    const types = new Set(values.map(value => typeof value));
    if (types.size > 1) this.#fault(key, `${name} mixes types; quote its items, as in ['yes', '2']`);
    return values;
  }

  #line(node: ParsedNode | null): number {
    return this.#lines.linePos(node?.range[0] ?? 0).line;
  }

  #fault(node: ParsedNode | null, what: string): void {
    this.#faults.push(`line ${this.#line(node)}: ${what}`);
  }

  #faultAt(offset: number, what: string): void {
    this.#faults.push(`line ${this.#lines.linePos(offset).line}: ${what}`);
  }
}
