/** The example agent in whole conversations on the embedded model: which id reaches which tool, and when it asks. */
import { describe, expect, it } from 'vitest'
import { BUREAU, CHAMPIGNY, HOUR, LEVALLOIS, Site } from './kit.ts'

interface Words {
  readonly list: string
  readonly choose: (name: string) => string
  readonly tasks: string
  readonly tasksOf: (what: string) => string
  readonly second: string
  readonly both: string
  readonly documents: string
  readonly documentsOf: (name: string) => string
  readonly andFor: (name: string) => string
  readonly taskDone: string
  readonly chooseTask: (name: string) => string
  readonly which: RegExp
}

const ENGLISH: Words = {
  list: 'List the projects',
  choose: (name) => `Select project ${name}`,
  tasks: 'Show me the tasks',
  tasksOf: (what) => `Show tasks for ${what}`,
  second: 'project 2',
  both: 'projects 1 and 3',
  documents: 'Show the documents',
  documentsOf: (name) => `Show the documents of the project ${name}`,
  andFor: (name) => `And for ${name}?`,
  taskDone: 'Mark the task as done',
  chooseTask: (name) => `Select task ${name}`,
  which: /^Which project\?[\s\S]*Champigny[\s\S]*Which one do you mean\?$/,
}

const FRENCH: Words = {
  list: 'Affiche les projets',
  choose: (name) => `Choisis le projet ${name}`,
  tasks: 'Quelles sont les tâches ?',
  tasksOf: (what) => `Montre-moi les tâches de ${what}`,
  second: 'projet 2',
  both: 'projets 1 et 3',
  documents: 'Affiche les documents',
  documentsOf: (name) => `Affiche les documents du projet ${name}`,
  andFor: (name) => `Et pour ${name} ?`,
  taskDone: 'Marque la tâche comme terminée',
  chooseTask: (name) => `Choisis la tâche ${name}`,
  which: /^Projet :[\s\S]*Champigny[\s\S]*À quoi pensez-vous exactement \?$/,
}

describe.each([
  { language: 'English', words: ENGLISH, scope: 'actor' },
  { language: 'French', words: FRENCH, scope: 'actor' },
  { language: 'English', words: ENGLISH, scope: 'conversation' },
] as const)('a conversation in $language, with choices of the $scope', ({ words, scope }) => {
  it('uses the chosen project directly, without looking it up', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.choose('Champigny'))
    expect(talk.active).toEqual(['project Champigny'])
    const { ran, text } = await talk.say(words.tasks)
    expect(ran).toEqual([`list_tasks ${CHAMPIGNY}`])
    expect(text).toContain('2. Peinture')
  })

  it('chooses first, and reads the rest of a message as about what was chosen', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.list)
    await talk.say(words.choose('Bureau'))
    const { ran } = await talk.say(`${words.choose('Champigny')}. ${words.tasks}`)
    expect(ran).toEqual([`select_project ${CHAMPIGNY}`, `list_tasks ${CHAMPIGNY}`])
  })

  it('takes the second project from the list just shown, without looking it up', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.list)
    const { ran } = await talk.say(words.tasksOf(words.second))
    expect(ran).toEqual([`list_tasks ${BUREAU}`])
  })

  it('looks a project up by its name if nothing is known of it: two calls', async () => {
    const { ran, refused } = await new Site(scope).talk().say(words.tasksOf('Champigny'))
    expect(ran).toEqual(['find_project Champigny', `list_tasks ${CHAMPIGNY}`])
    expect(refused).toEqual([])
  })

  it('asks which project after eight hours, and an answer goes on with what was asked for', async () => {
    const site = new Site(scope)
    const talk = site.talk()
    await talk.say(words.list)
    await talk.say(words.choose('Champigny'))
    site.clock.advance(8 * HOUR)
    expect(talk.active).toEqual([])
    const asked = await talk.say(words.tasks)
    expect(asked.ran.filter((call) => call.startsWith('list_tasks'))).toEqual([])
    expect(asked.text).toMatch(words.which)
    const { ran } = await talk.say('Levallois')
    expect(ran.at(-1)).toBe(`list_tasks ${LEVALLOIS}`)
  })

  it('takes what is named although something else is chosen, whether it was seen or not', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.choose('Champigny'))
    const unseen = await talk.say(words.tasksOf('Bureau'))
    expect(unseen.ran).toEqual(['find_project Bureau', `list_tasks ${BUREAU}`])
    const seen = await talk.say(words.tasksOf('Bureau'))
    expect(seen.ran).toEqual([`list_tasks ${BUREAU}`])
    expect(talk.active).toEqual(['project Champigny'])
    expect((await talk.say(words.documents)).ran).toEqual([`list_documents ${CHAMPIGNY}`])
  })

  it('does the same for another project that is named next', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.choose('Bureau'))
    const { ran } = await talk.say(words.documentsOf('Levallois'))
    expect(ran).toEqual(['find_project Levallois', `list_documents ${LEVALLOIS}`])
    expect((await talk.say(words.andFor('Bureau'))).ran).toEqual([`list_documents ${BUREAU}`])
  })

  it('asks which of two projects with one name is meant, and the answer decides', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.choose('Champigny'))
    const asked = await talk.say(words.tasksOf('Les Tilleuls'))
    expect(asked.requests.map(({ options }) => options)).toEqual([
      ['Les Tilleuls (Lyon)', 'Les Tilleuls (Nantes)'],
    ])
    expect(asked.ran.filter((call) => call.startsWith('list_tasks'))).toEqual([])
    expect((await talk.answer(asked, 'Les Tilleuls (Nantes)')).ran).toEqual(['list_tasks prj-n06w'])
  })

  it('calls once for each of "1 and 3", also when the list is no longer in the prompt', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.list)
    const both = [`list_tasks ${CHAMPIGNY}`, `list_tasks ${LEVALLOIS}`]
    const first = await talk.say(words.tasksOf(words.both))
    expect(first).toMatchObject({ ran: both, refused: [] })
    expect(first.text).toContain('Peinture')
    expect(first.text).toContain('Toiture')
    for (let turn = 0; turn < 3; turn++) await talk.say(words.tasksOf('Champigny'))
    expect(await talk.say(words.tasksOf(words.both))).toMatchObject({ ran: both, refused: ['several'] })
  })

  it('lets go of the task when another project is chosen, and offers only tasks of that one', async () => {
    const talk = new Site(scope).talk()
    await talk.say(words.choose('Champigny'))
    await talk.say(words.tasks)
    await talk.say(words.chooseTask('Peinture'))
    expect(talk.active).toEqual(['project Champigny', 'task Peinture'])
    await talk.say(words.choose('Bureau'))
    expect(talk.active).toEqual(['project Bureau'])
    const { ran, text } = await talk.say(words.taskDone)
    expect(ran).toEqual([`list_tasks ${BUREAU}`])
    expect(text).toContain('1. Cloisons')
    expect(text).not.toContain('Peinture')
  })
})

describe('what is chosen', () => {
  it('holds in the next conversation of the same person, and in nobody else’s', async () => {
    const site = new Site()
    await site.talk().say('Select project Champigny')
    const next = await site.talk({ contextId: 'next' }).say('Show me the tasks')
    expect(next.ran).toEqual([`list_tasks ${CHAMPIGNY}`])
    const eve = { tenant: 'local', actor: 'eve' }
    const { ran, text } = await site.talk({ contextId: 'hers', owner: eve }).say('Show me the tasks')
    expect(ran).toEqual(['list_projects'])
    expect(text).toMatch(ENGLISH.which)
  })

  it('is what a change is made to', async () => {
    const site = new Site()
    const talk = site.talk()
    await talk.say('Select project Champigny')
    await talk.say('Show me the tasks')
    await talk.say('Select task Peinture')
    expect((await talk.say('Mark it as done')).text).toBe('Peinture · done')
    expect(site.db.task('tsk-p40x')?.status).toBe('done')
  })

  it('gives way to a task that is named in part: one refusal, one look, and it is done', async () => {
    const site = new Site()
    const talk = site.talk()
    await talk.say('Select project Champigny')
    await talk.say('Show me the tasks')
    await talk.say('Select task Peinture')
    const { ran, refused } = await talk.say('Mark task Installation as done')
    expect(refused).toEqual(['not-active'])
    expect(ran).toEqual([`list_tasks ${CHAMPIGNY}`, 'update_task tsk-81qa done'])
    expect(site.db.task('tsk-p40x')?.status).toBe('open')
  })
})

describe('what is not known', () => {
  it('is not taken for what is chosen: a place that no list has', async () => {
    const talk = new Site().talk()
    await talk.say('List the projects')
    await talk.say('Select project Champigny')
    const { ran, text } = await talk.say('Show tasks for project 9')
    expect(ran.filter((call) => call.startsWith('list_tasks'))).toEqual([])
    expect(text).toMatch(ENGLISH.which)
  })

  it('is asked for with what is known, if nothing has that name', async () => {
    const { ran, text } = await new Site().talk().say('Show tasks for Marseille')
    expect(ran).toEqual(['find_project Marseille', 'list_projects'])
    expect(text).toContain('None that I know is called "Marseille".')
  })

  it('is found in spite of a typo', async () => {
    const { ran } = await new Site().talk().say('Show tasks for Champiny')
    expect(ran).toEqual(['find_project Champiny', `list_tasks ${CHAMPIGNY}`])
  })

  it('is no longer good when it is too old: it is looked up again by its name', async () => {
    const site = new Site()
    const talk = site.talk()
    await talk.say('List the projects')
    site.clock.advance(8 * HOUR)
    const { ran, refused } = await talk.say('Show tasks for project 2')
    expect(refused).toEqual(['expired'])
    expect(ran).toEqual(['find_project Bureau', `list_tasks ${BUREAU}`])
  })

  it('is good if the person wrote it and it looks like an id', async () => {
    const { ran } = await new Site().talk().say(`Show tasks for project ${LEVALLOIS}`)
    expect(ran).toEqual([`list_tasks ${LEVALLOIS}`])
  })
})
