//! Projects in TypeScript: one with npm and Node's own test runner, one with pnpm and Vitest.

use crate::counts::{self, counts};
use crate::person::{Person, User};
use crate::story::{Install, Project, Setting, Toolset, play};
use crate::workspace::Door;

const CODE: &str = "\
export function total(lines: string[]): number {
  return lines.reduce((sum, line) => sum + Number(line), 0);
}
";

const NODE_TESTS: &str = "\
import assert from 'node:assert';
import { test } from 'node:test';
import { total } from './ledger.js';

test('nothing is zero', () => assert.strictEqual(total([]), 0));
test('one line', () => assert.strictEqual(total(['1']), 1));
test('two lines', () => assert.strictEqual(total(['1', '2']), 3));
test('another day', { skip: 'later' }, () => assert.fail());
";

const VITEST_TESTS: &str = "\
import { expect, test } from 'vitest';
import { total } from '../src/ledger';

test('nothing is zero', () => expect(total([])).toBe(0));
test('one line', () => expect(total(['1'])).toBe(1));
test('two lines', () => expect(total(['1', '2'])).toBe(3));
test.skip('another day', () => expect(total([])).toBe(1));
";

const COMPILER: &str = r#"{
  "compilerOptions": {
    "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext", "strict": true,
    "outDir": "dist", "rootDir": "src", "skipLibCheck": true, "types": []
  },
  "include": ["src"]
}
"#;

const BREAKS: (&str, &str, &str) = (
    "src/ledger.ts",
    "  return lines.reduce((sum, line) => sum + Number(line), 0);",
    "  return lines.length;",
);

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn typescript_with_npm() {
    let package = r#"{
  "name": "ledger", "version": "1.0.0", "private": true, "type": "module",
  "scripts": {"build": "tsc", "test": "tsc && node --test dist/"}
}
"#;
    let compiler = COMPILER.replace("\"types\": []", "\"types\": [\"node\"]");
    let project = Project {
        name: "npm",
        files: vec![
            ("package.json", package.to_owned()),
            ("tsconfig.json", compiler),
            (".gitignore", "node_modules/\ndist/\n".to_owned()),
            ("src/ledger.ts", CODE.to_owned()),
            ("src/ledger.test.ts", NODE_TESTS.to_owned()),
        ],
        toolchain: |_| (),
        prepare: "true",
        install: Some(Install {
            probe: "npm pack --fetch-retries=0 --cache /tmp/npm --pack-destination /tmp is-odd@3",
            command: "npm install --no-audit --no-fund --fetch-retries=0 typescript@5.9 @types/node@20",
            packages: ("npm", &["typescript@5.9", "@types/node@20"]),
            folder: ".",
            more: ("npm install --no-audit --no-fund --fetch-retries=0 is-odd@3", "is-odd@3"),
        }),
        build: "npm run build",
        built: "dist/ledger.js",
        test: "npm test",
        read: counts::node,
        counts: counts(3, 0, 1),
        breaks: BREAKS,
        broken: counts(2, 1, 1),
    };
    play(
        &project,
        Setting { toolset: Toolset::Assistant, user: User::Ordinary, door: Door::Stdio },
    );
}

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn typescript_with_pnpm() {
    let package = r#"{
  "name": "ledger", "version": "1.0.0", "private": true,
  "scripts": {"build": "tsc", "test": "vitest run"}
}
"#;
    let project = Project {
        name: "pnpm",
        files: vec![
            ("package.json", package.to_owned()),
            ("pnpm-lock.yaml", "lockfileVersion: '9.0'\n".to_owned()),
            ("tsconfig.json", COMPILER.to_owned()),
            (".gitignore", "node_modules/\ndist/\n".to_owned()),
            ("src/ledger.ts", CODE.to_owned()),
            ("tests/ledger.test.ts", VITEST_TESTS.to_owned()),
        ],
        toolchain: Person::pnpm,
        prepare: "true",
        install: Some(Install {
            probe: "npm pack --fetch-retries=0 --cache /tmp/npm --pack-destination /tmp is-odd@3",
            command: "pnpm add --fetch-retries=0 typescript@5.9 vitest@3",
            packages: ("npm", &["typescript@5.9", "vitest@3"]),
            folder: ".",
            more: ("pnpm add --fetch-retries=0 is-odd@3", "is-odd@3"),
        }),
        build: "pnpm run build",
        built: "dist/ledger.js",
        test: "pnpm test",
        read: counts::vitest,
        counts: counts(3, 0, 1),
        breaks: BREAKS,
        broken: counts(2, 1, 1),
    };
    play(&project, Setting { toolset: Toolset::Codex, user: User::Current, door: Door::Server });
}
