/**
 * Message definitions as recordings carry them (ros2msg): the type itself, then each type that it uses under a heading
 * of its own. Made of the same fields that write the bytes, so that a reader takes them for what they are.
 */
import type { Field } from '../ros/own-messages';
import { definitionOf } from '../ros/serialise';

const HEADING = `${'='.repeat(80)}\nMSG: `;

/** Of a type such as `sensor_msgs/msg/JointState`. Throws INTERNAL. */
export function messageText(type: string): string {
  const [root, ...used] = withUsed(type.replace('/msg/', '/'));
  return fieldsText(root!) + used.map(name => `${HEADING}${name}\n${fieldsText(name)}`).join('');
}

/** The type, then the types of its fields, of their fields and so on, each once. */
function withUsed(type: string, found = new Set<string>()): ReadonlySet<string> {
  found.add(type);
  for (const name of definitionOf(type).map(fieldType))
    if (name.includes('/') && !found.has(name)) withUsed(name, found);
  return found;
}

const fieldsText = (type: string): string =>
  definitionOf(type)
    .map(field => `${fieldText(field)}\n`)
    .join('');

function fieldText(field: Field): string {
  const type = fieldType(field);
  if (field.isConstant) return `${type} ${field.name}=${field.valueText}`;
  const preset = field.defaultValue === undefined ? '' : ` ${JSON.stringify(field.defaultValue)}`;
  return `${type}${field.isArray ? '[]' : ''} ${field.name}${preset}`;
}

/** Our definitions know times as something simple, as ROS 1 did. */
const fieldType = ({ type }: Field): string =>
  ({ time: 'builtin_interfaces/Time', duration: 'builtin_interfaces/Duration' })[type] ?? type;
