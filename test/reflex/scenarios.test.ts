/** Choosing and grounding in whole conversations on the built-in model, in English and in French. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, memoryStore } from '../../src/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { BUREAU, CHAMPIGNY, HOUR, LEVALLOIS, Site, type Talk } from '../site-manager/kit.ts'
import { talk, tool } from './kit.ts'

const ENGLISH = {
  list: 'List the projects',
  choose: 'Select project Champigny',
  tasks: 'Show me tasks',
  tasksOf: (what: string) => `Show tasks for ${what}`,
  second: 'project 2',
  places: ['the second one', '2', 'choose 2', 'number 2', 'open the second one', 'switch to Bureau'],
  last: 'the last one',
  first: 'the first one',
  openFirst: 'open the first one',
  firstDone: 'mark the first one as done',
  andSecond: 'and the second one',
  remove: 'delete project Bureau',
  cannot:
    /^None of my tools can do that: “delete”\. I am reflex[\s\S]*This is what I can do:\n- list_projects/,
  which: /^Which project\?|Which project do you mean\?$/,
}

const FRENCH: typeof ENGLISH = {
  list: 'Affiche les projets',
  choose: 'Choisis le projet Champigny',
  tasks: 'Montre-moi les tâches',
  tasksOf: (what: string) => `Montre-moi les tâches de ${what}`,
  second: 'projet 2',
  places: [
    'le deuxième',
    'le 2',
    'choisis le 2',
    'le numéro 2',
    'ouvre le deuxième',
    'passe au projet Bureau',
  ],
  last: 'le dernier',
  first: 'la première',
  openFirst: 'ouvre la première',
  firstDone: 'marque la première comme terminée',
  andSecond: 'et la deuxième',
  remove: 'supprime le projet Bureau',
  cannot:
    /^Aucun de mes outils ne sait faire cela : « supprime »[\s\S]*Voici ce que je sais faire :\n- list_projects/,
  which: /^Projet :/,
}

describe.each([
  ['English', ENGLISH],
  ['French', FRENCH],
])('a conversation in %s', (_, words) => {
  async function after(...says: readonly string[]): Promise<{ site: Site; talk: Talk }> {
    const site = new Site()
    const made = site.talk()
    for (const text of says) await made.say(text)
    return { site, talk: made }
  }

  it('scenario 1: uses the active project directly, without a lookup', async () => {
    const { talk: made } = await after(words.choose)
    expect((await made.say(words.tasks)).ran).toEqual([`list_tasks ${CHAMPIGNY}`])
  })

  it('scenario 2: takes the id from the last tool results, without a lookup', async () => {
    const { talk: made } = await after(words.list)
    expect((await made.say(words.tasksOf(words.second))).ran).toEqual([`list_tasks ${BUREAU}`])
  })

  it('scenario 3: looks the name up if nothing is active or recent: two calls', async () => {
    const { talk: made } = await after()
    const { ran, refused } = await made.say(words.tasksOf('Champigny'))
    expect({ ran, refused }).toEqual({
      ran: ['find_project Champigny', `list_tasks ${CHAMPIGNY}`],
      refused: [],
    })
  })

  it('scenario 4: counts places in what the last turns have shown, and passes older ones on to the guard', async () => {
    const { talk: made } = await after(words.list)
    for (let turn = 0; turn < 4; turn++) await made.say(words.tasksOf('Levallois'))
    const { ran, refused } = await made.say(words.tasksOf(words.second))
    expect(ran).toEqual([`list_tasks ${BUREAU}`])
    expect(refused).toEqual([])
  })

  it('scenario 5: asks which project once the active one has expired', async () => {
    const { site, talk: made } = await after(words.list, words.choose)
    site.clock.advance(8 * HOUR)
    const { ran, text } = await made.say(words.tasks)
    expect(ran.filter((call) => call.startsWith('list_tasks'))).toEqual([])
    expect(text).toMatch(words.which)
  })

  it.each(words.places)('%j after the list chooses the second project', async (said) => {
    const { talk: made } = await after(words.list)
    expect((await made.say(said)).ran).toEqual([`select_project ${BUREAU}`])
  })

  it('counts from the end, too', async () => {
    const { talk: made } = await after(words.list)
    expect((await made.say(words.last)).ran).toEqual(['select_project prj-n06w'])
  })

  it.each([
    ['first', words.first],
    ['openFirst', words.openFirst],
  ])('means the first task once tasks are listed, and no project: %s', async (_kind, said) => {
    const { talk: made } = await after(words.list, words.choose, words.tasks)
    expect((await made.say(said)).ran).toEqual(['select_task tsk-81qa'])
    expect(made.active).toEqual(['project Champigny', 'task Installation électrique'])
  })

  it('changes one by its place, and goes on with the next', async () => {
    const { talk: made } = await after(words.choose, words.tasks)
    expect((await made.say(words.firstDone)).ran).toEqual(['update_task tsk-81qa done'])
    expect((await made.say(words.andSecond)).ran).toEqual(['update_task tsk-p40x done'])
  })

  it('says so when no tool does what is asked for, and calls none', async () => {
    const { talk: made } = await after(words.list)
    const { ran, text } = await made.say(words.remove)
    expect(ran).toEqual([])
    expect(text).toMatch(words.cannot)
    expect((await made.say(words.tasksOf('Levallois'))).ran).toEqual([`list_tasks ${LEVALLOIS}`])
  })
})

describe('words that no parameter takes', () => {
  const clock = tool('current_time', 'Tells the current time.')
  const cityClock = tool('current_time', 'Tells the current time.', { city: { type: 'string' } })

  it.each(['what time is it in Tokyo?', 'what time is it in tokyo', 'in Tokyo, what time is it?'])(
    'are asked about instead of left out: %j',
    async (said) => {
      const [reply = ''] = await talk([clock], [said])
      expect(reply.toLowerCase()).toBe('i cannot do anything with “tokyo”. do you mean: current_time?')
    },
  )

  it('are left out once the person agrees, and not if the person does not', async () => {
    expect((await talk([clock], ['what time is it in Tokyo?', 'yes'])).at(-2)).toBe('current_time {}')
    expect((await talk([clock], ['what time is it in Tokyo?', 'no'])).at(-1)).toBe('All right, I leave it.')
  })

  it('are used by a tool that takes a place', async () => {
    expect((await talk([cityClock], ['what time is it in Tokyo?']))[0]).toBe('current_time {"city":"Tokyo"}')
  })
})

describe('arithmetic', () => {
  const calculate = tool('calculate', 'Evaluates an arithmetic expression.', {
    'expression!': { type: 'string' },
  })

  it.each([
    ['12*7+1', '12*7+1'],
    ['2^10', '2^10'],
    ['(3+4)*2', '(3+4)*2'],
    ['combien font 12 fois 7 ?', '12 * 7'],
  ])('%j is passed on as it is', async (said, expression) => {
    expect((await talk([calculate], [said]))[0]).toBe(`calculate ${JSON.stringify({ expression })}`)
  })

  it('leaves dates and ranges alone', async () => {
    const list = tool('list_events', 'Lists events.', { date: { type: 'string', format: 'date' } })
    expect((await talk([calculate, list], ['list events on 2026-05-01']))[0]).toBe(
      'list_events {"date":"2026-05-01"}',
    )
  })
})

describe('an unknown outcome', () => {
  it.each([
    ['Pay the rent', /^The outcome of pay_rent is unknown: .* may or may not have happened/],
    ['Paie le loyer avec pay_rent', /^L’issue de pay_rent est inconnue : .* peut-être eu lieu, ou pas/],
  ])('after %j is told as unknown, and not as a failure', async (said, reply) => {
    const pay = tool('pay_rent', 'Pays the rent.')
    const prompt = [
      { role: 'user', content: [{ type: 'text', text: said }] },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'pay_rent', input: {} }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'pay_rent',
            output: { type: 'error-text', value: 'Started; its outcome is unknown.' },
          },
        ],
      },
    ] as const
    const providerOptions = { holdfast: { displays: {}, unknown: ['c1'] } }
    const { content } = await reflex().doGenerate({ prompt, tools: [pay], providerOptions })
    expect(content).toMatchObject([{ type: 'text', text: expect.stringMatching(reply) as string }])
  })
})

describe('the language of what is said', () => {
  const note = defineTool({
    name: 'add_note',
    description: 'Adds a note.',
    input: z.object({ title: z.string() }),
    run: ({ title }) => ({ title }),
  })
  const agentWith = (systemPrompt: string): Agent =>
    new Agent({ contextId: 'notes', store: memoryStore(), model: 'reflex', tools: [note], systemPrompt })

  it('is that of the conversation, also for an answer that shows none', async () => {
    const agent = agentWith('Be brief.')
    expect(await agent.input('ajoute une note')).toBe(
      'Pour add_note, il me faut title. Que dois-je mettre pour title ?',
    )
    expect(await agent.input('xyz')).toBe('title: xyz')
    expect(await agent.input('merci')).toBe('Je vous en prie.')
    expect(await agent.input('add a note')).toBe('For add_note I need title. What should title be?')
  })

  it('is that of a greeting', async () => {
    expect(await agentWith('Be brief.').input('bonjour')).toMatch(/^Bonjour/)
    expect(await agentWith('Be brief.').input('merci')).toBe('Je vous en prie.')
    expect(await agentWith('Sois bref.').input('hello')).toMatch(/^Hello/)
  })

  it('is that of the instructions until somebody has spoken', async () => {
    expect(await agentWith('Tu aides le chef de chantier. Sois bref.').input('xyzzy')).toMatch(
      /^Je n’ai rien trouvé/,
    )
    expect(await agentWith('You help the foreman. Be brief.').input('xyzzy')).toMatch(
      /^I did not find anything/,
    )
  })
})
