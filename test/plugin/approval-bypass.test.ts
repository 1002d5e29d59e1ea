/** An approval policy against calls that are written to get past its rules. */
import fs, { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type ApprovalPolicyOptions, type ApprovalRule, approvalPolicy } from '../../src/plugin/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bypass-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Given = readonly ApprovalRule[] | ApprovalPolicyOptions

/** The decision about one call. */
async function decided(given: Given, tool: string, input: unknown): Promise<string | undefined> {
  const options = 'rules' in given ? given : { rules: given }
  const { approve } = approvalPolicy({ cwd: folder, ...options })
  const principal = { tenant: 't', actor: 'a' }
  return (await approve?.({ tool, input, principal, callId: 'c', contextId: 'x' }))?.decision
}

const any: ApprovalRule = { tool: 'execute_command', decision: 'allow' }

/** The decisions about commands, each with its text. */
async function table(rules: Given, texts: readonly string[]): Promise<readonly string[]> {
  const lines = texts.map(
    async (command) => `${await decided(rules, 'execute_command', { command })}: ${command}`,
  )
  return Promise.all(lines)
}

const all = (decision: string, texts: readonly string[]) => texts.map((text) => `${decision}: ${text}`)

describe('a command that a pattern denies or asks about', () => {
  const open = ['git push *', 'npm publish *', 'cargo publish *', 'pnpm publish *', 'go install *']
  const patterns = [...open, 'kubectl delete *', 'gh release delete *', 'git commit --amend *', 'git fetch']
  const written = [
    ...[
      'git push',
      '/usr/bin/git push',
      'git -C . push',
      'git -c a.b=c push origin main',
      'git --no-pager push',
    ],
    ...['git --git-dir=.git push', 'git -c push push', 'npm --silent publish', 'npm --prefix . publish'],
    ...['npm -w x publish', 'pnpm -r publish', 'cargo +nightly publish', 'cargo --quiet publish'],
    ...['go -C . install', 'kubectl -n prod delete pod x', 'gh -R a/b release delete v1'],
    ...['gh release -R a/b delete v1', 'git commit -m x --amend', 'git -C . fetch', 'git fetch --all'],
  ]

  it.each(['deny', 'ask'] as const)('is found behind options: %s', async (decision) => {
    const rules: ApprovalRule[] = [any, { tool: 'execute_command', command: patterns, decision }]
    expect(await table(rules, written)).toEqual(all(decision, written))
    const others = ['git log push', 'git commit -m push', 'npm test', 'git fetch origin', 'git pull']
    expect(await table(rules, others)).toEqual(all('allow', others))
  })
})

describe('a rule that allows a tool beside a rule for its commands', () => {
  const rules: ApprovalRule[] = [any, { tool: 'execute_command', command: 'rm *', decision: 'deny' }]
  const codes = [
    ...[
      'x86_64 rm -rf x',
      'linux32 rm -rf x',
      'ssh-agent rm -rf x',
      'dbus-run-session rm -rf x',
      'jobs -x rm x',
    ],
    ...["find . -maxdepth 0 -exec rm -rf x ';'", "find . -okdir rm x ';'", 'node -e "1"', 'python3 -c "1"'],
    ...['python3 -Ic 1', 'perl -e 1', 'perl -lne 1', 'node --eval=1', 'node -p 1', 'ruby -e 1', 'php -r 1'],
    ...[
      '/lib64/ld-linux-x86-64.so.2 /bin/rm x',
      'screen -dm rm x',
      'tmux new-session -d rm x',
      'fakeroot rm x',
    ],
    ...["git -c 'alias.x=!rm' x", 'git -c core.fsmonitor=./evil status', 'git -C x config a b'],
    ...['poetry run rm x', 'pipenv run rm x', 'bundle exec rm x', 'conda run rm x', 'mise exec rm x'],
    ...['rustup run stable rm x', 'pyenv exec rm x', 'composer exec rm x', 'ip netns exec a rm x'],
    ...['cross-env A=1 rm x', 'dumb-init rm x', 'caffeinate rm x', 'chronic rm x', 'cpulimit rm x'],
    ...[
      'npm --silent exec x',
      'split --filter=./evil x',
      'split --filt=./evil x',
      'sort --compress-program=./e x',
    ],
    ...[
      'sort --comp=./e x',
      'rg --pre ./e x',
      'rg --pre=./e x',
      'git grep -O./e x',
      'git fetch --upload-pack=./e x',
    ],
    ...["git clone -u './e;' . x", 'git clone -c core.sshCommand=./e a:b x', 'git -C . clone -qc a.b=c . x'],
    ...["printf -v 'a[$(rm x)]' 1", "printf '-va[$(rm x)]' 1", "test -v 'a[$(rm x)]'"],
  ]

  it('covers no launchers and no options that run code', async () => {
    expect(await table(rules, codes)).toEqual(all('ask', codes))
  })

  it('covers the others', async () => {
    const plain = [
      'npm test',
      'node x.js',
      'git --version',
      'find . -name x',
      'sort -r x',
      'git log --oneline',
      'git push -u origin main',
      'git clone -q . x',
      "printf '%s' x",
      'test -f x',
      'ls',
    ]
    expect(await table(rules, plain)).toEqual(all('allow', plain))
  })
})

describe('an argument that cannot be judged', () => {
  const rules: ApprovalRule[] = [
    { tool: ['read_many', 'web_fetch'], decision: 'allow' },
    { tool: '*', path: '.env', decision: 'deny' },
    { tool: '*', host: 'evil.dev', decision: 'deny' },
  ]

  it.each([[['.env']], [{ p: '.env' }], [7], [null], ['a\n']])('asks: path %j', async (path) => {
    expect(await decided(rules, 'read_many', { path })).toBe('ask')
    expect(await decided([any, ...rules], 'execute_command', { command: 'ls', path })).toBe('ask')
  })

  it.each([['https://u@evil.dev'], ['ftp://evil.dev'], [['https://evil.dev']]])(
    'asks: url %j',
    async (url) => {
      expect(await decided(rules, 'web_fetch', { url })).toBe('ask')
    },
  )

  it('does not ask if no rule could concern it', async () => {
    expect(await decided([{ tool: 'read_many', decision: 'allow' }], 'read_many', { path: ['x'] })).toBe(
      'allow',
    )
    expect(await decided(rules, 'read_many', { path: '.env' })).toBe('deny')
    expect(await decided(rules, 'web_fetch', { url: 'https://example.com' })).toBe('allow')
  })
})

describe('a rule for *', () => {
  it.each<[ApprovalRule]>([
    [{ tool: '*', decision: 'allow' }],
    [{ tool: '*', path: 'src/**', decision: 'allow' }],
    [{ tool: '*', decision: 'ask' }],
  ])('names no tool: %j', async (rule) => {
    expect(await decided([rule], 'pay', { path: 'src/x' })).toBe('ask')
    expect(await decided({ rules: [rule], unknown: 'deny' }, 'pay', { path: 'src/x' })).toBe('deny')
  })

  it('allows tools that another rule names', async () => {
    const rules: ApprovalRule[] = [
      { tool: '*', path: 'src/**', decision: 'allow' },
      { tool: 'write*', path: 'src/keys/**', decision: 'deny' },
    ]
    expect(await decided({ rules, unknown: 'deny' }, 'write_to_file', { path: 'src/x' })).toBe('allow')
  })
})

describe('a tool that reads a folder', () => {
  const tools = ['search_files', 'list_files', 'list_code_definition_names']
  const rules: ApprovalRule[] = [
    { tool: [...tools, 'read_file'], decision: 'allow' },
    { tool: '*', path: ['.env', 'a/secrets/**', 'keys/*.pem'], decision: 'deny' },
  ]

  it.each(tools)('asks if a denied path may lie below, unless it shows names alone: %s', async (tool) => {
    const about = async (path: string) => decided(rules, tool, { path, regex: '.' })
    const asking = ['.', '', 'a', 'A', 'keys', '..', '/', folder]
    const decision = tool === 'list_files' ? 'allow' : 'ask'
    expect(await Promise.all(asking.map(about))).toEqual(asking.map(() => decision))
    expect(await decided(rules, tool, {})).toBe(decision)
    const denied = ['a/secrets', 'a/secrets/', 'a/secrets/deep', 'a/x/../secrets', '.env']
    expect(await Promise.all(denied.map(about))).toEqual(denied.map(() => 'deny'))
    const allowed = ['src', 'a/b', 'keys/deep', '../other', '/elsewhere']
    expect(await Promise.all(allowed.map(about))).toEqual(allowed.map(() => 'allow'))
  })

  it('asks by the names of files that it reads', async () => {
    const deep: ApprovalRule[] = [
      { tool: 'search_files', decision: 'allow' },
      { tool: '*', path: ['.env*', '**/.env*'], decision: 'deny' },
    ]
    const about = async (file_pattern: unknown) =>
      decided(deep, 'search_files', { path: 'src', file_pattern })
    const asking = [
      '.env',
      '.*',
      '*',
      '*.local',
      '.ENV',
      '**/.env',
      '!*.ts',
      '*.{ts,env}',
      'a/*',
      '[.]env',
      '',
      7,
      undefined,
    ]
    expect(await Promise.all(asking.map(about))).toEqual(asking.map(() => 'ask'))
    const allowed = ['a*.ts', 'x?.md', '**/index.ts']
    expect(await Promise.all(allowed.map(about))).toEqual(allowed.map(() => 'allow'))
  })

  it('of another kind does not ask', async () => {
    expect(await decided(rules, 'read_file', { path: 'a' })).toBe('allow')
  })
})

describe('a pattern that could match nothing', () => {
  it.each([
    ['~/.ssh/**', 'write the whole path'],
    ['src/{a,b}.ts', 'write a list of patterns'],
    ['.env.[lp]*', 'write ? for any one character'],
    ['secrets/', 'write /** at its end'],
    ['./', 'write /** at its end'],
    ['!src/**', 'write a rule with another decision'],
    ['.env ', 'remove them'],
    [' .env', 'remove them'],
    ['.git\\config', 'write / between folders'],
    ['a//b', 'write one / between folders'],
    ['a/./b', 'write one / between folders'],
    ['a/../b', 'leads out of the folder'],
  ])('is refused: path %j', (path, advice) => {
    expect(() => approvalPolicy({ cwd: folder, rules: [{ tool: '*', path, decision: 'deny' }] })).toThrow(
      advice,
    )
  })

  it.each(['https://evil.dev', 'evil.dev/x', '*', 'a.*.dev', ' evil.dev', 'u@evil.dev'])(
    'is refused: host %j',
    (host) => {
      expect(() => approvalPolicy({ rules: [{ tool: '*', host, decision: 'deny' }] })).toThrow(
        'write example.com',
      )
    },
  )

  it.each([
    ['bücher.de', 'xn--bcher-kva.de'],
    ['*.bücher.de', '*.xn--bcher-kva.de'],
    ['evil.dev.', 'evil.dev'],
    ['evil.dev:443', 'evil.dev'],
    ['evil.dev:80', 'evil.dev'],
    ['127.1:8080', '127.0.0.1:8080'],
    ['[::0:1]', '[::1]'],
  ])('is refused: host %j, with the form that matches', (host, form) => {
    expect(() => approvalPolicy({ rules: [{ tool: '*', host, decision: 'deny' }] })).toThrow(
      `its host "${host}" has another form in addresses; write ${form}`,
    )
  })

  it.each(['::1', 'evil.dev:99999'])('is refused: host %j, which no address has', (host) => {
    expect(() => approvalPolicy({ rules: [{ tool: '*', host, decision: 'deny' }] })).toThrow(
      'write example.com',
    )
  })

  it('is refused: a tool with spaces', () => {
    expect(() => approvalPolicy({ rules: [{ tool: 'pay ', decision: 'deny' }] })).toThrow('remove them')
  })

  it('is told from one that matches', async () => {
    for (const path of ['./.env', '.env', '?env', '.env*', '**/.env', `${folder}/.env`, '/**', '**'])
      expect(
        await decided([{ tool: 'read_file', path, decision: 'deny' }], 'read_file', { path: '.env' }),
      ).toBe('deny')
  })
})

describe('the folder of a policy', () => {
  const rule: ApprovalRule = { tool: '*', path: '.env', decision: 'deny' }

  it('is needed for rules with paths, and exists', () => {
    expect(() => approvalPolicy({ rules: [rule] })).toThrow('path rules need cwd')
    expect(() => approvalPolicy({ rules: [rule], cwd: join(folder, 'missing') })).toThrow('is no folder')
    expect(() => approvalPolicy({ rules: [rule], cwd: import.meta.filename })).toThrow('is no folder')
    expect(() => approvalPolicy({ rules: [any] })).not.toThrow()
  })

  it('is where links are read', async () => {
    symlinkSync('.env', join(folder, 'notes'))
    writeFileSync(join(folder, '.env'), 'x')
    const rules: ApprovalRule[] = [{ tool: 'read_file', decision: 'allow' }, rule]
    expect(await decided(rules, 'read_file', { path: 'notes' })).toBe('deny')
  })
})

describe('a link on the way', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-links-'))
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))
  for (const name of ['src', 'shared', 'secrets/sub', 'hooks'])
    mkdirSync(join(cwd, name), { recursive: true })
  for (const name of ['.env', 'secrets/key', 'src/ok']) writeFileSync(join(cwd, name), 'x')
  symlinkSync('../shared', join(cwd, 'src/shared'))
  symlinkSync('secrets/sub', join(cwd, 'l'))
  symlinkSync('../hooks/pre-commit', join(cwd, 'src/new'))
  symlinkSync('../secrets/new', join(cwd, 'src/inner'))
  symlinkSync('circle', join(cwd, 'src/circle'))
  const rules: readonly ApprovalRule[] = [
    { tool: 'read_file', decision: 'allow' },
    { tool: 'write_to_file', path: 'src/**', decision: 'allow' },
    {
      tool: 'execute_command',
      command: ['cat *', 'grep *', 'diff *', 'find *', 'echo *'],
      decision: 'allow',
    },
    { tool: '*', path: ['.env', 'secrets/**', 'hooks/**'], decision: 'deny' },
  ]
  const about = (tool: string, input: unknown) => decided({ rules, cwd }, tool, input)

  it('is followed before the ".." after it', async () => {
    expect(await about('read_file', { path: 'src/shared/../.env' })).toBe('deny')
    expect(await about('read_file', { path: 'l/../key' })).toBe('deny')
    expect(await about('write_to_file', { path: 'src/shared/../package.json' })).toBe('ask')
    expect(await about('write_to_file', { path: 'src/ok/../shared/../x' })).toBe('ask')
    expect(await about('execute_command', { command: 'cat src/shared/../.env' })).toBe('deny')
    expect(await about('execute_command', { command: 'echo x > src/shared/../package.json' })).toBe('ask')
    expect(await about('execute_command', { command: 'cat key', cwd: 'l/..' })).toBe('deny')
    expect(await about('execute_command', { command: 'cat ok', cwd: 'src/shared/..' })).toBe('ask')
  })

  it('gives the grant for a path the name of the file that it leads to', async () => {
    const asking = approvalPolicy({ cwd, rules: [{ tool: 'edit', path: 'src/**', decision: 'allow' }] })
    const grantsFor = async (path: string) => {
      const principal = { tenant: 't', actor: 'a' }
      const call = { tool: 'edit', input: { path }, principal, callId: 'c', contextId: 'x' }
      return (await asking.approve?.(call))?.grants
    }
    expect(await grantsFor('key')).toEqual(['edit: key'])
    expect(await grantsFor('l/../key')).toEqual(['edit: secrets/key'])
    expect(await grantsFor('l/new')).toEqual(['edit: secrets/sub/new'])
  })

  it('leads where it leads, also if nothing is there', async () => {
    expect(await about('write_to_file', { path: 'src/new' })).toBe('deny')
    expect(await about('execute_command', { command: 'echo x > src/inner' })).toBe('deny')
    expect(await about('write_to_file', { path: 'src/circle' })).toBe('ask')
    expect(await about('write_to_file', { path: 'src/fresh' })).toBe('allow')
  })

  it.each([
    'grep -r S secrets',
    'diff -r secrets src',
    'find secrets',
    'grep -vf.env src/ok',
    'find ./secrets/',
    'secrets/key',
    './secrets/sub/run -x',
    'l/run',
  ])('denied places are denied to commands: %s', async (command) => {
    expect(await about('execute_command', { command })).toBe('deny')
  })

  it.runIf(existsSync('/proc/self/cwd'))('of /proc leads to the folder of the command', async () => {
    const cat = async (path: string, place = '.') =>
      about('execute_command', { command: `cat ${path}`, cwd: place })
    expect(await cat('/proc/self/cwd/.env')).toBe('deny')
    expect(await cat('/proc/1/../self/task/../cwd/secrets/key')).toBe('deny')
    expect(await cat('/proc/self/cwd/../.env', 'src')).toBe('deny')
    expect(await cat('/proc/self/cwd/src/ok')).toBe('allow')
  })

  it('is read once for a command, whatever the number of rules', async () => {
    const command = 'cat a/b=c,d -xyz e'
    const countWith = async (count: number): Promise<number> => {
      const denying = Array.from({ length: count }, (_, at): ApprovalRule => {
        return { tool: '*', path: `denied${at}/**`, decision: 'deny' }
      })
      const { lstatSync } = fs
      const counted = vi.spyOn(fs, 'lstatSync').mockImplementation(lstatSync)
      syncBuiltinESMExports()
      try {
        expect(await decided({ rules: [any, ...denying], cwd }, 'execute_command', { command })).toBe('allow')
        return counted.mock.calls.length
      } finally {
        counted.mockRestore()
        syncBuiltinESMExports()
      }
    }
    await countWith(1)
    expect(await countWith(20)).toBe(await countWith(1))
  })
})
