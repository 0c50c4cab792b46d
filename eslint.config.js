// Import zones: data flows ingest → core → engine → core → outputs, and core/ knows rxjs and itself only.
const tseslint = require('typescript-eslint');

const native = ['rclnodejs', 'onnxruntime-node', 'sharp'];

/** Forbids imports in one zone; `groups` are path patterns, `paths` package names. */
const zone = (files, paths, groups, message) => ({
  files,
  rules: {
    'no-restricted-imports': [
      'error',
      { paths: paths.map(name => ({ name, message })), patterns: groups.map(g => ({ group: [g], message })) },
    ],
  },
});

module.exports = tseslint.config(
  {
    ignores: [
      'dist/',
      'build/',
      'install/',
      'log/',
      '.venv/',
      '.setup/',
      'engines/',
      'test/data/',
      'test/.tmp/',
    ],
  },
  {
    files: ['src/**/*.ts', 'test/**/*.ts'],
    extends: [...tseslint.configs.recommended],
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
        { selector: 'TSEnumDeclaration', message: 'Use a union of string literals.' },
      ],
      eqeqeq: 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['src/core/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [{ regex: '^(?!rxjs($|/)|\\./)', message: 'core/ imports rxjs and core/ only.' }],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'setTimeout', 'setInterval', 'performance'],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is passed into core/.' },
      ],
    },
  },
  zone(
    ['src/model/**/*.ts', 'src/policies/**/*.ts'],
    ['rclnodejs', 'onnxruntime-node'],
    ['**/ros/**', '**/engine/**', '**/builder/**'],
    'model/ and policies/ know core/ only.',
  ),
  zone(
    ['src/builder/**/*.ts'],
    native,
    ['**/ros/**', '**/engine/**'],
    'builder/ writes files; it runs nothing.',
  ),
  zone(
    ['src/engine/**/*.ts'],
    ['rclnodejs', 'sharp'],
    ['**/ros/**', '**/builder/**'],
    'engine/ knows ONNX Runtime, not ROS.',
  ),
  zone(
    ['src/bag/**/*.ts'],
    native,
    ['**/engine/**', '**/builder/**', '**/replay/**'],
    'bag/ reads recordings; it knows nobody who uses them.',
  ),
  zone(
    ['src/machine/**/*.ts'],
    native,
    ['../*'],
    'machine/ says what this machine has; it knows nobody who asks.',
  ),
  zone(
    ['src/report/**/*.ts'],
    native,
    ['../*'],
    'report/ is what reports are made of; it imports itself only.',
  ),
  zone(['src/replay/**/*.ts'], ['rclnodejs', 'onnxruntime-node'], ['**/builder/**'], 'replay/ needs no ROS.'),
  zone(['src/ros/**/*.ts'], ['onnxruntime-node', 'sharp'], ['**/builder/**'], 'ros/ never runs the model.'),
);
