module.exports = {
  roots: ['<rootDir>/test'],
  testEnvironment: '<rootDir>/test/support/native-environment.js',
  transform: {
    '^.+\\.ts$': [
      'ts-jest',
      {
        tsconfig: {
          module: 'CommonJS',
          moduleResolution: 'Node10',
          ignoreDeprecations: '6.0',
          isolatedModules: true,
          esModuleInterop: true,
          target: 'ES2022',
          allowJs: true,
          verbatimModuleSyntax: false,
        },
        diagnostics: false,
      },
    ],
  },
  testMatch: ['**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  testTimeout: 60_000,
};
