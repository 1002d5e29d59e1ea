/** What is typed, and what it means: arguments, answers, expressions, names, models. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore } from 'holdfast'
import { describe, expect, it, onTestFinished } from 'vitest'
import { problemWith } from '../../src/cli/answer.ts'
import { readArguments } from '../../src/cli/arguments.ts'
import { calculate } from '../../src/cli/builtin/calculate.ts'
import { fieldFrom, fieldsOf } from '../../src/cli/chat/fields.ts'
import { completeSlash } from '../../src/cli/chat/slash.ts'
import { park } from '../../src/cli/command/interruption.ts'
import { chooseModel, definitionFor } from '../../src/cli/config/choose-model.ts'
import { COMMANDS, SHARED } from '../../src/cli/help.ts'
import { freshId, keyOf, namedContext } from '../../src/cli/names.ts'
import { didYouMean } from '../../src/cli/nearest.ts'
import { Workspace } from '../../src/cli/workspace.ts'
import { answerFrom } from '../../src/tool/index.ts'
import { launch } from './gate/world.ts'
import { FIXTURE, Folders } from './kit.ts'

const request = (kind: string, more: object = {}) => ({ requestId: 'r', prompt: 'p', kind, ...more })

describe('arguments', () => {
  const read = (...args: string[]) => readArguments(args, COMMANDS, SHARED)

  it('may come in any order, short or long', async () => {
    const given = await read(
      '--no-color',
      'run',
      '-c',
      'a',
      'hello',
      'world',
      '--model=x',
      '--answer',
      'a=1',
      '--answer',
      'b=2',
    )
    expect(given.command?.name).toBe('run')
    expect(given.words).toEqual(['hello', 'world'])
    expect([
      given.value('context'),
      given.value('model'),
      given.values('answer'),
      given.has('no-color'),
    ]).toEqual(['a', 'x', ['a=1', 'b=2'], true])
  })

  it('are words after two dashes', async () => {
    expect((await read('run', '--', '--json')).words).toEqual(['--json'])
    expect((await read('run', '-')).words).toEqual(['-'])
  })

  it('may ask for help whatever else is missing', async () => {
    expect((await read('show', '--help')).has('help')).toBe(true)
    expect((await read('-h')).command).toBeUndefined()
  })

  it('that are nearly right are recognised', async () => {
    expect(didYouMean('shwo', ['show', 'chat'])).toBe(' Did you mean show?')
    expect(didYouMean('frobnicate', ['show', 'chat'])).toBe('')
  })
})

describe('an answer', () => {
  it.each([
    ['yes', true],
    ['Y', true],
    ['no', false],
    ['n, too many', { approved: false, reason: 'too many' }],
    ['{"approved":true}', { approved: true }],
    ['nobody', 'nobody'],
    ['session', { approved: true, scope: 'session' }],
    ['Always', { approved: true, scope: 'always' }],
    ['always yes', 'always yes'],
    ['stop', { approved: false, stop: true }],
    ['stop: an attack', { approved: false, stop: true, reason: 'an attack' }],
  ])('%j to a confirmation is %j', (typed, value) => {
    expect(answerFrom(request('confirmation'), typed)).toEqual(value)
  })

  it('to a choice is an option by its text or its number', () => {
    const choice = request('choice', { options: ['red', 'blue', 3] })
    expect(['blue', 'RED', '2', '3', '9'].map((typed) => answerFrom(choice, typed))).toEqual([
      'blue',
      'red',
      'blue',
      3,
      9,
    ])
    const several = request('choice', { options: ['red', 'blue'], multiple: true })
    expect(answerFrom(several, '2, red')).toEqual(['blue', 'red'])
    expect(answerFrom(several, '["red"]')).toEqual(['red'])
  })

  it('to a choice of several may have options with commas in them', () => {
    const options = ['Paris, France', 'Lyon, France', 'Lyon', 'Nice', ',']
    const typed = ['Paris, France', 'nice,paris,france', 'Lyon, France, Lyon', 'Paris', 'France, 4', ',']
    const several = request('choice', { options, multiple: true })
    expect(typed.map((text) => answerFrom(several, text))).toEqual([
      ['Paris, France'],
      ['Nice', 'Paris, France'],
      ['Lyon, France', 'Lyon'],
      ['Paris, France'],
      ['France', 'Nice'],
      [],
    ])
  })

  it('to a choice is also the only option that has its words', () => {
    const options = ['Les Tilleuls (Lyon)', 'Les Tilleuls (Nantes)', 'Orléans']
    const typed = ['nantes', 'tilleuls lyon', 'Orleans', 'les tilleuls', 'Nan']
    expect(typed.map((text) => answerFrom(request('choice', { options }), text))).toEqual([
      'Les Tilleuls (Nantes)',
      'Les Tilleuls (Lyon)',
      'Orléans',
      'les tilleuls',
      'Nan',
    ])
  })

  it('to a question for data is JSON, and to one for a text the text', () => {
    expect(answerFrom(request('data'), '{"a":1}')).toEqual({ a: 1 })
    expect(answerFrom(request('text'), ' 42 ')).toBe('42')
  })

  it('that cannot be one is seen at once', () => {
    expect(problemWith(request('confirmation'), 'maybe')).toContain('Type yes or no')
    expect(problemWith(request('confirmation'), { approved: false })).toBeUndefined()
    const always = { approved: true, scope: 'always' }
    expect(problemWith(request('confirmation'), always)).toContain('Nothing is offered')
    expect(problemWith(request('confirmation', { about: { grants: ['a'] } }), always)).toBeUndefined()
    expect(problemWith(request('choice', { options: ['a'] }), 'b')).toBe('b is no option.')
    expect(problemWith(request('text'), 'anything')).toBeUndefined()
  })
})

describe('a form', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'of whom' },
      age: { type: 'integer' },
      size: { enum: ['S', 'L'] },
    },
    required: ['name'],
  }

  it('has a field for each property', () => {
    expect(fieldsOf(schema)?.map(({ name, hint }) => `${name}: ${hint}`)).toEqual([
      'name: text, of whom',
      'age: whole number; Enter to leave out',
      'size: S|L; Enter to leave out',
    ])
    expect(fieldsOf({ type: 'string' })).toBeUndefined()
    expect(fieldsOf(undefined)).toBeUndefined()
  })

  it('takes what fits and says what does not', () => {
    const [, age, size] = fieldsOf(schema) ?? []
    if (age === undefined || size === undefined) throw new Error('fields are missing')
    expect([fieldFrom(age, '7'), fieldFrom(age, '7.5'), fieldFrom(size, 'l'), fieldFrom(size, 'M')]).toEqual([
      { ok: true, value: 7 },
      { ok: false, problem: 'age is a whole number.' },
      { ok: true, value: 'L' },
      { ok: false, problem: 'size is one of S, L.' },
    ])
  })
})

describe('the calculator', () => {
  it.each([
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4', 20],
    ['-2 ^ 2', -4],
    ['2 ^ 3 ^ 2', 512],
    ['2 ^ -1', 0.5],
    ['10 % 4 / 2', 1],
    ['0.1 + 0.2', 0.3],
    ['1e3 - 1', 999],
  ])('%s is %d', (expression, value) => {
    expect(calculate(expression)).toBe(value)
  })

  it.each([
    ['', 'There is nothing to calculate.'],
    ['2 +', 'Something is missing at the end.'],
    ['(1', 'A bracket is not closed.'],
    ['1 2', '"2" is not expected there.'],
    ['process.exit()', 'not "process.ex".'],
    ['1 / 0', '1 / 0 has no finite value.'],
    ['2 * * 3', 'A number is missing before "*".'],
  ])('refuses %j', (expression, message) => {
    expect(() => calculate(expression)).toThrow(message)
  })
})

describe('names', () => {
  it('of conversations begin with the agent', () => {
    expect(keyOf({ agent: 'site', id: 'main' }).contextId).toBe('site:main')
    expect(namedContext('site:a:b', ['site'])).toEqual({ agent: 'site', id: 'a:b' })
    expect(namedContext('user:123', ['site'])).toBeUndefined()
    expect(namedContext('plain', ['site'])).toBeUndefined()
  })

  it('that are new are not taken, not even by what was erased', async () => {
    const store = memoryStore()
    const day = new Date(2026, 0, 5)
    expect(await freshId(store, 'site', day)).toBe('2026-01-05')
    const key = keyOf({ agent: 'site', id: '2026-01-05' })
    await store.append({
      key,
      id: 'x',
      since: 0,
      inbox: [{ type: 'input', key: 'i', data: { message: 'hi' } }],
    })
    await store.erase(key)
    expect(await freshId(store, 'site', day)).toBe('2026-01-05-2')
  })
})

it('a first chat says what to type, and a later one does not', async () => {
  const folders = new Folders()
  onTestFinished(() => folders.remove())
  const cwd = folders.make()
  const chat = (...typed: string[]) => launch({ args: ['chat'], isTTY: true, cwd, typed })
  const first = await chat('What is 12 * 7?', '/exit')
  expect(first.both).toContain('Try: Write a note called shopping')
  expect(first.both).toContain('84')
  expect((await chat('/exit')).both).not.toContain('Try: ')
})

it('a chat says what to type where there is nothing to continue', async () => {
  const folders = new Folders()
  onTestFinished(() => folders.remove())
  const { both } = await launch({
    args: ['chat'],
    isTTY: true,
    cwd: folders.make(),
    typed: ['/continue', '/exit'],
  })
  expect(both).toContain('✗ There is nothing to continue. Type a message.')
})

it('the last conversation is remembered while another process writes the same file', async () => {
  const folders = new Folders()
  onTestFinished(() => folders.remove())
  const cwd = folders.make()
  const open = await Workspace.load({ cwd, env: {} })
  open.rememberContext('site', 'a')
  // Taken by another process, as the name of its draft.
  mkdirSync(join(cwd, '.holdfast/state.json.new'))
  open.rememberContext('site', 'b')
  expect(open.lastContext('site')).toBe('b')
})

it('a chat opens the conversation of the full name, with its agent', async () => {
  const folders = new Folders()
  onTestFinished(() => folders.remove())
  const args = ['chat', '--config', FIXTURE, '--context', 'hasty:main']
  const { both } = await launch({ args, isTTY: true, cwd: folders.make(), typed: ['/exit'] })
  expect(both).toContain('hasty · scripted/model · main')
})

describe('the model', () => {
  const choose = (env: Record<string, string>, installed: readonly string[] = []) =>
    chooseModel({ agent: {}, env, isInstalled: (name) => installed.includes(name) })

  it('is the built-in one without a key', () => {
    expect(choose({})).toMatchObject({
      model: 'reflex',
      why: expect.stringContaining('set OPENAI_API_KEY and npm install @ai-sdk/openai, or'),
    })
    expect(choose({}, ['@ai-sdk/google']).why).toContain('set GOOGLE_GENERATIVE_AI_API_KEY, or')
  })

  it('is that of the vendor whose key and package are there', () => {
    expect(choose({ OPENAI_API_KEY: 'k' }, ['@ai-sdk/openai'])).toMatchObject({
      model: 'openai/gpt-4.1-mini',
      why: 'OPENAI_API_KEY is set',
    })
    const both = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }
    expect(choose(both, ['@ai-sdk/openai'])).toMatchObject({ model: 'openai/gpt-4.1-mini' })
    expect(choose({ OPENAI_API_KEY: 'k' }).why).toContain('npm install @ai-sdk/openai')
  })

  it('is what the option says, then what the config says', () => {
    expect(chooseModel({ option: 'a', agent: { model: 'b' }, env: {} })).toEqual({ model: 'a', name: 'a' })
    expect(chooseModel({ agent: { model: ['b', 'c'] }, env: {} }).name).toBe('b')
  })

  it('of another vendor gets no key, address or header of the config', () => {
    const settings = { apiKey: 'k', baseURL: 'https://proxy.test', headers: { a: 'b' }, temperature: 0 }
    const agent = { model: 'anthropic/claude-sonnet-4-5', settings }
    const settingsOf = (option: string) =>
      definitionFor(chooseModel({ option, agent, env: {} }), agent).settings
    expect(settingsOf('openai/gpt-4.1-mini')).toEqual({ temperature: 0 })
    expect(settingsOf('gpt-4.1-mini')).toEqual({ temperature: 0 })
    expect(settingsOf('anthropic/claude-haiku-4-5')).toEqual(settings)
    expect(settingsOf('claude-haiku-4-5')).toEqual(settings)
    const unnamed = { settings }
    expect(definitionFor({ model: 'openai/gpt-4.1-mini', name: '' }, unnamed)).toEqual(unnamed)
  })
})

describe('completion', () => {
  const known = { ids: () => ['trip', 'main'], agents: () => ['site'], models: () => ['reflex'] }

  it('knows commands and what they take', () => {
    expect(completeSlash('/fo', known)).toEqual([['/fork'], '/fo'])
    expect(completeSlash('/switch tr', known)).toEqual([['trip'], 'tr'])
    expect(completeSlash('/model ', known)).toEqual([['reflex'], ''])
    expect(completeSlash('hello', known)).toEqual([[], 'hello'])
    expect(completeSlash('/show x', known)).toEqual([[], 'x'])
  })
})

describe('being asked to end', () => {
  it('waits for the pause, but not longer than the grace time', async () => {
    expect(await park({ pause: () => Promise.resolve() }, 1000)).toBe('paused')
    expect(await park({ pause: () => new Promise(() => {}) }, 10)).toBe('left')
    expect(await park({ pause: () => Promise.reject(new Error('the store is gone')) }, 1000)).toBe('left')
  })
})
