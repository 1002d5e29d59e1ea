/** What the embedded model makes of single sentences and short talks, with tools as people write them. */
import { describe, expect, it } from 'vitest'
import { talk, tool } from './kit.ts'

const text = { type: 'string' }
const TOOLS = [
  tool('list_projects', 'List all projects in the workspace.', {
    status: { type: 'string', enum: ['active', 'done'] },
  }),
  tool('create_project', 'Create a project.', { 'name!': text, description: text }),
  tool('list_tasks', 'List the tasks of a project.', { 'projectId!': text, done: { type: 'boolean' } }),
  tool('create_task', 'Add a task to a project.', {
    'projectId!': text,
    'title!': text,
    priority: { type: 'string', enum: ['low', 'normal', 'high'] },
    due: { type: 'string', format: 'date' },
  }),
  tool('complete_task', 'Mark a task as done.', { 'taskId!': text }),
  tool('get_weather', 'Get the current weather for a city.', {
    'city!': { type: 'string', description: 'Name of the city' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
  }),
  tool('send_email', 'Send an email.', {
    'to!': { type: 'string', format: 'email' },
    'subject!': text,
    'body!': text,
  }),
  tool('calculate', 'Evaluate an arithmetic expression.', { 'expression!': text }),
  tool('search_web', 'Search the web.', { 'query!': text, limit: { type: 'integer' } }),
]

const projects = [
  { id: 'p1', name: 'Website relaunch', status: 'active' },
  { id: 'p2', name: 'Mobile app', status: 'active' },
]
const tasks = [
  { id: 't1', title: 'Fix login bug' },
  { id: 't2', title: 'Write docs' },
  { id: 't3', title: 'Fix signup form' },
]

function answers(name: string): unknown {
  if (name === 'list_projects') return projects
  return name === 'list_tasks' ? { tasks } : { ok: true }
}

/** Only the calls. */
async function calls(...says: string[]): Promise<string[]> {
  return (await talk(TOOLS, says, answers)).filter((line) => /^\w+ \{/.test(line))
}

describe('one sentence', () => {
  it.each([
    ["what's the weather in Paris?", 'get_weather {"city":"Paris"}'],
    ['weather in New York in fahrenheit please', 'get_weather {"city":"New York","unit":"fahrenheit"}'],
    ['list active projects', 'list_projects {"status":"active"}'],
    ['please create a project called Apollo', 'create_project {"name":"Apollo"}'],
    [
      'send an email to bob@x.org with subject "Hello" and body "How are you?"',
      'send_email {"to":"bob@x.org","subject":"Hello","body":"How are you?"}',
    ],
    ['calculate 2 + 2 * 3', 'calculate {"expression":"2 + 2 * 3"}'],
    ['search the web for durable agents', 'search_web {"query":"durable agents"}'],
    ['mark task t2 as done', 'complete_task {"taskId":"t2"}'],
  ])('%j is %s', async (said, call) => {
    expect(await calls(said)).toEqual([call])
  })

  it('looks up what it names before it acts on it', async () => {
    expect(await calls('add a task "Buy milk" to Mobile app with high priority, due 2026-05-01')).toEqual([
      'list_projects {}',
      'create_task {"projectId":"p2","title":"Buy milk","priority":"high","due":"2026-05-01"}',
    ])
  })

  it.each(['do not complete task t2', "don't complete task t2", 'never complete the task t2'])(
    'that says no, like %j, calls nothing',
    async (said) => {
      expect(await calls(said)).toEqual([])
    },
  )

  it.each(['delete the project Apollo', 'tell me a joke', 'Is it Friday?'])(
    '%j, which nothing can do, is answered with what can be done',
    async (said) => {
      const [reply = ''] = await talk(TOOLS, [said])
      expect(reply).toMatch(
        /^(?:None of my tools can do that: “delete”|I did not find anything in this that I can do)\. I am reflex, a model made of rules[^\n]*\. This is what I can do:\n- list_projects/,
      )
    },
  )
})

describe('a talk', () => {
  it('goes from a list to one of its rows by name, by place and by pronoun', async () => {
    expect(
      await calls(
        'show my projects',
        'what tasks are in the website relaunch?',
        'complete the second one',
        'and the last one',
        'mark "Fix login bug" as done',
      ),
    ).toEqual([
      'list_projects {}',
      'list_tasks {"projectId":"p1"}',
      'complete_task {"taskId":"t2"}',
      'complete_task {"taskId":"t3"}',
      'complete_task {"taskId":"t1"}',
    ])
  })

  it('understands the answer to each of its questions', async () => {
    expect(await talk(TOOLS, ['send an email to bob@x.org', 'Hello', 'How are you?'])).toEqual([
      'For send_email I need subject. What should subject be?',
      'For send_email I need body. What should body be?',
      'send_email {"to":"bob@x.org","subject":"Hello","body":"How are you?"}',
      'ok: true',
    ])
  })

  it('asks which row is meant, and takes a part of its name for an answer', async () => {
    expect(
      await talk(
        TOOLS,
        ['which tasks are there in the website relaunch?', 'complete fix', 'the signup one'],
        answers,
      ),
    ).toEqual([
      'list_projects {}',
      'list_tasks {"projectId":"p1"}',
      'tasks:\n  - Fix login bug (t1)\n  - Write docs (t2)\n  - Fix signup form (t3)',
      'For complete_task I need taskId. These are known:\n1. Fix login bug (t1)\n2. Fix signup form (t3)\nWhich one do you mean?',
      'complete_task {"taskId":"t3"}',
      'ok: true',
    ])
  })

  it('can be left', async () => {
    expect(await talk(TOOLS, ['create a project', 'never mind'])).toEqual([
      'For create_project I need name. What should name be?',
      'All right, I leave it.',
    ])
  })

  it('takes a new request instead of an answer', async () => {
    expect(await calls('create a project', 'list the projects')).toEqual(['list_projects {}'])
  })

  it('repeats a look with another text', async () => {
    expect(await calls('what is the weather in Paris?', 'and in London?')).toEqual([
      'get_weather {"city":"Paris"}',
      'get_weather {"city":"London"}',
    ])
  })

  it('does two things that are asked for at once', async () => {
    expect(await calls('list the projects and send an email')).toEqual(['list_projects {}'])
    expect(await calls('complete task t1 and complete task t2')).toEqual([
      'complete_task {"taskId":"t1"}',
      'complete_task {"taskId":"t2"}',
    ])
  })

  it('stops after a tool that failed, and says what it said', async () => {
    expect(await talk(TOOLS, ['weather in Paris'], () => new Error('no connection'))).toEqual([
      'get_weather {"city":"Paris"}',
      'get_weather did not work: no connection',
    ])
  })

  it('says a result that has words of its own in these words', async () => {
    const display = 'It is 21 degrees in Paris.'
    expect((await talk(TOOLS, ['weather in Paris'], () => ({ display, degrees: 21 }))).at(-1)).toBe(display)
  })
})

describe('what it says of itself', () => {
  it.each(['who are you?', 'What are you', 'are you an AI?', 'which model is this?'])(
    'to %j is the truth',
    async (said) => {
      expect((await talk(TOOLS, [said]))[0]).toMatch(/^I am reflex.* made of rules, not of a neural network/)
    },
  )

  it.each(['hi', 'Hello!', 'good morning', 'Hallo'])('to %j is a greeting', async (said) => {
    expect((await talk(TOOLS, [said]))[0]).toMatch(/^Hello\. This is what I can do:/)
  })

  it('to thanks is a welcome', async () => {
    expect(await talk(TOOLS, ['thanks a lot'])).toEqual(['You are welcome.'])
  })

  it('without tools is that it has none', async () => {
    expect(await talk([], ['hello'])).toEqual(['Hello. I can only call tools, and I have none here.'])
    expect((await talk([], ['list my files']))[0]).toContain('I can only call tools, and I have none here.')
  })
})

describe('arguments', () => {
  const make = tool('build_wall', 'Builds a wall.', {
    'height!': { type: 'integer', minimum: 1, maximum: 10 },
    width: { type: 'number' },
    painted: { type: 'boolean' },
    colors: { type: 'array', items: { type: 'string', enum: ['red', 'green', 'blue'] } },
    site: { type: 'object', properties: { street: text, number: { type: 'integer' } }, required: ['street'] },
  })

  it.each([
    ['build a wall of height 3', '{"height":3}'],
    ['build a wall 4', '{"height":4}'],
    ['build a wall, height: 3, width 2.5', '{"height":3,"width":2.5}'],
    ['build a painted wall with height=7', '{"height":7,"painted":true}'],
    ['build a wall with height 7, not painted', '{"height":7,"painted":false}'],
    ['build a red and blue wall, height 2', '{"height":2,"colors":["red","blue"]}'],
  ])('of %j are %s', async (said, args) => {
    expect((await talk([make], [said]))[0]).toBe(`build_wall ${args}`)
  })

  it.each(['build a wall', 'build a wall of height 99', 'build a wall of height 2.5', 'build a wall 3 or 4'])(
    'that are missing or do not fit are asked for: %j',
    async (said) => {
      expect((await talk([make], [said]))[0]).toMatch(
        /^For build_wall I need height.*What should height be\?$/s,
      )
    },
  )

  it('that are dates, addresses and names are known by the words of their parameters', async () => {
    const plan = tool('plan_visit', 'Plans a visit.', {
      'startDate!': text,
      'endDate!': text,
      guestEmail: text,
      'visitTitle!': text,
      website: text,
    })
    const said =
      'plan a visit called Open house from 2026-05-01 until 2026-05-03 for eve@x.org, see https://x.org/a'
    expect((await talk([plan], [said]))[0]).toBe(
      'plan_visit {"startDate":"2026-05-01","endDate":"2026-05-03","guestEmail":"eve@x.org","visitTitle":"Open house","website":"https://x.org/a"}',
    )
  })

  it('are found in words with accents and in other scripts', async () => {
    const accents = tool('créer_tâche', 'Crée une tâche.', {
      'priorité!': { type: 'string', enum: ['élevée', 'basse'] },
    })
    expect((await talk([accents], ['creer la tache, priorite elevee']))[0]).toBe(
      'créer_tâche {"priorité":"élevée"}',
    )
    const russian = tool('показать_погоду', 'Показать погоду.', {})
    expect((await talk([russian], ['показать погоду']))[0]).toBe('показать_погоду {}')
    const chinese = tool('查看天气', '查看天气', {})
    expect((await talk([chinese], ['请查看天气']))[0]).toBe('查看天气 {}')
  })
})

describe('a tool that deletes everything', () => {
  const tools = [
    tool('list_tasks', 'Lists the tasks.'),
    tool('delete_task', 'Deletes a task.', { 'taskId!': { type: 'string' } }),
    tool('close_task', 'Marks a task as done.', { 'taskId!': { type: 'string' } }),
    tool('delete_all_tasks', 'Deletes all tasks.'),
  ]
  const rows = [
    { id: 't-1', title: 'Paint the wall' },
    { id: 't-2', title: 'Fix the roof' },
  ]
  const said = async (request: string): Promise<readonly string[]> => {
    const lines = await talk(tools, ['list the tasks', request], (name) =>
      name === 'list_tasks' ? rows : { ok: true },
    )
    return lines.slice(2)
  }

  it.each([
    'delete all tasks that are done',
    'delete all tasks that are open',
    'delete all tasks that were closed',
    'delete all finished tasks',
    'supprime toutes les tâches terminées',
    'supprime toutes les tâches faites',
    'delete',
    'delete please',
    'supprime',
    'before deleting all tasks, list them',
    'without deleting all tasks, list them',
    'sans supprimer toutes les tâches, liste les tâches',
    'avant de supprimer toutes les tâches, liste les tâches',
    'instead of deleting all tasks, list them',
  ])('is not called by %s', async (request) => {
    const lines = await said(request)
    expect(lines.filter((line) => line.startsWith('delete_'))).toEqual([])
    expect(lines.at(-1)).toMatch(/\?$/)
  })

  it('names what is missing in whole French sentences', async () => {
    expect((await said('supprime la tâche Zorglub')).at(-1)).toContain('taskId. Rien de ce que je connais')
  })

  it.each(['delete all tasks', 'instead delete all tasks', 'supprime toutes les tâches'])(
    'is called by %s',
    async (request) => {
      expect((await said(request))[0]).toBe('delete_all_tasks {}')
    },
  )
})

describe('the words of a tool itself', () => {
  const part = { 'part!': { type: 'string' } }
  const tools = [
    tool('take_inventory', 'Takes the inventory, slowly.'),
    tool('count_stock', 'Counts the stock of a part.', part),
    tool('order_parts', 'Orders parts.', { ...part, 'quantity!': { type: 'integer' } }),
    tool('use_coupon', 'Uses a coupon.', { 'coupon!': { type: 'string' } }),
    tool('try', 'Tries the alarm.'),
  ]

  it.each([
    ['take the inventory', 'take_inventory {}'],
    ['Could you please take the inventory now?', 'take_inventory {}'],
    ['take inventory', 'take_inventory {}'],
    ['take_inventory', 'take_inventory {}'],
    ['takeInventory', 'take_inventory {}'],
    ['try', 'try {}'],
    ['use the coupon "X12"', 'use_coupon {"coupon":"X12"}'],
    ['count the stock of bolt', 'count_stock {"part":"bolt"}'],
    ['count the stock of bolts', 'count_stock {"part":"bolts"}'],
    ['count bolts', 'count_stock {"part":"bolts"}'],
    ['count the washers', 'count_stock {"part":"washers"}'],
    ['order 10 bolts', 'order_parts {"part":"bolts","quantity":10}'],
    ['order 10 bolt', 'order_parts {"part":"bolt","quantity":10}'],
    ['order ten of the washers', 'order_parts {"part":"washers","quantity":10}'],
  ])('are understood: %s', async (said, call) => {
    expect((await talk(tools, [said]))[0]).toBe(call)
  })

  it.each(['count_stock', 'order parts', 'order_parts'])('are understood, and %s asks', async (said) => {
    expect((await talk(tools, [said]))[0]).toMatch(/I need part\. What should part be\?$/)
  })

  it.each(['do not take the inventory', 'should I take the inventory?', 'take it', 'take two', 'bolt 10'])(
    'are no order in %j',
    async (said) => {
      expect((await talk(tools, [said])).filter((line) => line.includes('{'))).toEqual([])
    },
  )
})

describe('what could do harm', () => {
  const things = [
    tool('list_lamps', 'Lists all lamps.'),
    tool('delete_lamp', 'Deletes a lamp for good.', { 'lampId!': { type: 'integer' } }),
    tool('switch_on_lamp', 'Switches on a lamp.', { 'lampId!': { type: 'integer' } }),
    tool('switch_off_lamp', 'Switches off a lamp.', { 'lampId!': { type: 'integer' } }),
  ]
  const rows = [
    { id: 1, name: 'Desk' },
    { id: 2, name: 'Door' },
    { id: 3, name: 'Desk small' },
  ]
  const look = (name: string): unknown => (name === 'list_lamps' ? rows : { ok: true })
  const deleted = async (...says: string[]): Promise<string[]> => {
    return (await talk(things, says, look)).filter((line) => line.startsWith('delete_lamp {'))
  }

  it.each([
    'should I delete lamp 1?',
    'if lamp 1 is broken delete it',
    'why would anybody delete lamp 1',
    'please do NOT delete lamp 1',
    'no need to delete lamp 1',
    'do I have to delete lamp 1?',
    'can lamp 1 be deleted?',
    'lamp 1 should have been deleted',
    'she said to delete lamp 1',
    'Bob wanted to delete lamp 1, tell him no',
    'delete all but lamp 1',
    'remove all lamps',
    'delete the Desk and the Door lamp',
    'delete lamp 1 tonight',
    'delete any lamp like 1',
    'delete lamp 1, not 2',
    'bin each lamp, such as 1',
    'delete lamp 1, once Bob is back',
    'lamp 1',
    'delete',
  ])('is not done for %j', async (said) => {
    expect(await deleted(said)).toEqual([])
  })

  it('is not done because a question about it is followed by something else', async () => {
    expect(await deleted('do not delete lamp 1', 'should I delete lamp 1?', 'lamp 1')).toEqual([])
  })

  it('is done when it is said plainly, or when the question about it is answered', async () => {
    expect(await deleted('delete the lamp "Door"')).toEqual(['delete_lamp {"lampId":2}'])
    expect(await deleted('should I delete lamp 1?', 'yes')).toEqual(['delete_lamp {"lampId":1}'])
    expect(await deleted('list the lamps', 'delete the first and the second', 'the second')).toEqual([
      'delete_lamp {"lampId":2}',
    ])
  })

  it('is asked about with its reading where a word is left over', async () => {
    const [, , reply] = await talk(things, ['list the lamps', 'so Bob deletes the Door lamp'], look)
    expect(reply).toBe('I cannot do anything with “Bob”. Do you mean: delete_lamp (lampId: Door)?')
    expect(await deleted('list the lamps', 'so Bob deletes the Door lamp', 'yes')).toEqual([
      'delete_lamp {"lampId":2}',
    ])
  })

  it('is not done by halves: an answer to a question about one part does the other, too', async () => {
    const said = ['list the lamps', 'delete lamp 2 and then switch on a lamp']
    expect(await deleted(...said)).toEqual([])
    expect((await talk(things, [...said, '3'], look)).slice(-3, -1)).toEqual([
      'switch_on_lamp {"lampId":3}',
      'delete_lamp {"lampId":2}',
    ])
  })

  it('is told apart by the little words of names', async () => {
    expect(
      (await talk(things, ['switch off lamp 2', 'switch lamp 3 on'])).filter((line) => /^\w+ \{/.test(line)),
    ).toEqual(['switch_off_lamp {"lampId":2}', 'switch_on_lamp {"lampId":3}'])
  })
})
