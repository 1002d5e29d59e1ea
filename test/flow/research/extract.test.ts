/** The rules of extractive answers: which sentences are quoted, and what is a conflict. */
import { describe, expect, it } from 'vitest'
import { askedParts } from '../../../src/flow/research/asked-part.ts'
import { type Conflict, conflictsIn, newerOf } from '../../../src/flow/research/conflicts.ts'
import { type Evidence, excerptsOf } from '../../../src/flow/research/evidence.ts'
import { type Extraction, extract } from '../../../src/flow/research/extract.ts'
import { asksForWeb, queriesFor } from '../../../src/flow/research/question.ts'
import { spelledAs } from '../../../src/flow/research/spelling.ts'
import { contentStems, sentencesOf } from '../../../src/flow/research/words.ts'

/** One passage of each document, all with the same score. */
function evidence(documents: Readonly<Record<string, string>>): readonly Evidence[] {
  return Object.entries(documents).map(([title, text], at) => ({
    ...{ number: at + 1, kind: 'document', id: `p${at + 1}`, documentId: title, title, source: title },
    ...{ page: 1, text, lead: '', score: 0.8 },
  }))
}

function read(question: string, documents: Readonly<Record<string, string>>): Extraction {
  return extract(evidence(documents), askedParts({ question, about: '' }))
}

function quoted(question: string, documents: Readonly<Record<string, string>>): readonly string[] {
  return read(question, documents).sentences
}

describe('sentences', () => {
  it('end before a heading, a row of a table and a page number, which stand in lines of their own', () => {
    const page = `that are brittle from the outside, and the damage to them is hard to see below
growth
Codes
E01 Voltage too low Charge the batteries
E02 Echo lost Look for foam
The pier was closed for the whole night, because waves broke over the wall and the
harbour office had asked for it. It was opened again at noon, when the wind was in the
7`
    expect(sentencesOf(page)).toEqual([
      'that are brittle from the outside, and the damage to them is hard to see below growth',
      'Codes',
      'E01 Voltage too low Charge the batteries',
      'E02 Echo lost Look for foam',
      'The pier was closed for the whole night, because waves broke over the wall and the harbour office had asked for it.',
      'It was opened again at noon, when the wind was in the',
      '7',
    ])
  })

  it('go on in the next line of a paragraph', () => {
    expect(sentencesOf('The rock is mica schist at\nOuter Ledge and gneiss at Mid\nSkerry.')).toEqual([
      'The rock is mica schist at Outer Ledge and gneiss at Mid Skerry.',
    ])
  })
})

it('a name with a number is one word and no figure', () => {
  expect(contentStems('The buoy MS-1 and the gauge TG-2')).toEqual(['buoi', 'ms1', 'gaug', 'tg2'])
  expect(contentStems('the MS1 of 2017')).toEqual(['ms1', '2017'])
})

describe('the excerpts of a web page', () => {
  const excerpts = (text: string, query: string): readonly string[] =>
    excerptsOf({ url: 'https://tower.example', title: '', text }, query).map((excerpt) => excerpt.text)

  it('are found in a script without spaces', () => {
    const text = '東京タワーの高さは333メートルです。1958年に建てられました。'
    expect(excerpts(text, '東京タワーは何メートルですか')).toEqual([text])
    expect(excerpts(text, '富士山')).toEqual([])
    expect(contentStems('高さ333メートル')).toEqual(['高さ', '333', 'メー', 'ート', 'トル'])
  })

  it('come from all of a text without stops', () => {
    const text = `${'and so we went on and on '.repeat(60)}until the holdfast gripped ${'again '.repeat(200)}`
    const [excerpt = ''] = excerpts(text, 'Which holdfast gripped?')
    expect(excerpt).toContain('the holdfast gripped')
    expect(excerpt.length).toBeLessThanOrEqual(600)
    const unbroken = excerpts(`${'x'.repeat(599)}😀 holdfast`, 'holdfast')
    expect(unbroken).toEqual(['holdfast'])
  })
})

describe('the quoted sentences', () => {
  it('give times and places that are written with an accent', () => {
    expect(quoted('Quand a lieu la fête du port ?', { Agenda: 'La fête du port a lieu en été.' })).toEqual([
      'La fête du port a lieu en été. [1]',
    ])
    expect(quoted('Where is the caisse Guimet?', { Plan: 'La caisse Guimet se trouve à droite.' })).toEqual([
      'La caisse Guimet se trouve à droite. [1]',
    ])
  })

  it('are those with the words that few passages have', () => {
    const [first] = quoted('Can I clean the antenna of the gauge with a solvent?', {
      Parts: 'The antenna of the gauge is made of plastic.',
      Care: 'Wipe the antenna of the gauge with a cloth. Never use a solvent on the antenna.',
      Pier: 'The antenna of the gauge hangs below the pier.',
    })
    expect(first).toBe('Never use a solvent on the antenna. [2]')
  })

  it('are no headings', () => {
    const answer = quoted('What is the chain of the mooring?', {
      Notes: 'Chain of the mooring\n\nThe chain of the mooring is made of steel.',
    })
    expect(answer).toEqual(['The chain of the mooring is made of steel. [1]'])
  })

  it('answer each part of a question', () => {
    const answer = quoted('What fee does the memo propose, and when do the engines stop?', {
      Memo: 'The memo proposes a fee. The fee that the memo proposes is 720 euros. What the memo proposes, a fee, is new.',
      Boats: 'The engines stop in 2024.',
    })
    expect(answer).toContain('The engines stop in 2024. [2]')
  })

  it('answer each part with a sentence of its own', () => {
    const answer = quoted(
      'How often was the tether replaced by the design, and how often is the tether replaced since the storm?',
      {
        Design: 'The tether is replaced every year by the design, since a storm can come.',
        Storm: 'The tether is replaced twice a year.',
      },
    )
    expect(answer).toContain('The tether is replaced twice a year. [2]')
  })

  it('come from several documents where these are about as good', () => {
    const answer = quoted('How deep is the water at the mooring?', {
      Plan: 'The water at the mooring is 22 m deep. At 22 m the water of the mooring is deep. For 22 m of deep water the mooring is short.',
      Report: 'The water at the mooring is 24 m deep.',
    })
    expect(answer).toContain('The water at the mooring is 24 m deep. [2]')
  })

  it('are none if a price is asked for and no passage has one', () => {
    const documents = { Report: 'The inspection of the moorings took two days.' }
    expect(quoted('How much did the inspection of the moorings cost?', documents)).toEqual([])
    expect(
      quoted('How much did the inspection of the moorings cost?', {
        Report: 'The inspection of the moorings was 3,600 euros.',
      }),
    ).toHaveLength(1)
    expect(
      quoted("Combien a coûté l'inspection des ancrages ?", {
        Rapport: "L'inspection des ancrages est finie.",
      }),
    ).toEqual([])
  })

  it('are none if no passage has the thing that is counted', () => {
    const documents = { Report: 'Forty seals were seen around the island in 2022.' }
    expect(quoted('How many whales were seen around the island in 2022?', documents)).toEqual([])
    expect(quoted('Combien de baleines were seen around the island in 2022?', documents)).toEqual([])
    expect(quoted('How many seals were seen around the island in 2022?', documents)).toHaveLength(1)
  })
})

it('a part with a pronoun keeps the subject of the question', () => {
  const question = 'How often was the elastic tether replaced, and how often is it since the storm?'
  expect(queriesFor({ question, about: '' }).at(-1)).toBe(
    'how often is it since the storm elastic tether replaced',
  )
})

it('a part that is but another year keeps the words of the question', () => {
  expect(
    queriesFor({ question: 'How high was the canopy at the rock in 2019, and in 2023?', about: '' }),
  ).toEqual([
    'How high was the canopy at the rock in 2019, and in 2023?',
    'How high was the canopy at the rock in 2019',
    'How high was the canopy at the rock in 2023',
  ])
})

function namedConflicts(question: string, documents: Readonly<Record<string, string>>): number {
  const parts = askedParts({ question, about: '' })
  return conflictsIn(extract(evidence(documents), parts).sides, parts).length
}

describe('nothing is quoted', () => {
  const station = {
    'Staff of 2022': 'The director of the station is Ingrid Solheim. Salaries were 571,200 euros in 2022.',
    Visits: 'The ferry takes 25 minutes. There is a lighthouse on the hill, and the mill was built in 1764.',
    Codes: 'E05: the memory is full.',
  }
  it.each([
    ['a noun that the sentence lacks', 'What is the name of the ferry captain?'],
    ['a year that the sentence lacks', 'How high were the salaries in 2019?'],
    ['a code that the sentence lacks', 'What does E09 mean?'],
    ['words that are in two sentences far apart', 'When was the ferry built?'],
    ['a value of another kind', 'How heavy is the ferry?'],
    ['a number that is a year', 'How many salaries were there in 2022?'],
  ])('without %s: %s', (_, question) => {
    expect(quoted(question, station)).toEqual([])
  })

  it.each([
    'Which dentist did Marie Curie see in Paris?',
    'What is the title of the dentist of Marie Curie in Paris?',
  ])('of a passage in another language that has but the names: %s', (question) => {
    const life = 'Marie Curie est née à Varsovie. Elle a étudié la physique à Paris, et ce titre est le sien.'
    expect(quoted(question, { 'Vie de Marie Curie': life })).toEqual([])
    expect(quoted('What did Marie Curie study in Paris?', { 'Vie de Marie Curie': life })).toHaveLength(1)
  })

  it('and the words that are missing are named, with the nearest statement', () => {
    const [open] = read('What is the salary of the captain?', station).open
    expect(open?.lacking).toEqual(['captain'])
    expect(open?.nearest?.sentence).toBe('Salaries were 571,200 euros in 2022.')
  })
})

describe('a misspelt word is read', () => {
  const spelled = (question: string, text: string): readonly string[] => {
    const found = evidence({ notes: text })
    const parts = askedParts({ question, about: '' }).map((part) => spelledAs(part, found))
    return extract(found, parts).sentences
  }
  it.each([
    ['with a letter too few', 'How high is the statin?', 'The station is 12 m high.'],
    ['with two letters swapped', 'How high is the guage?', 'The gauge is 12 m high.'],
  ])('%s', (_, question, text) => {
    expect(spelled(question, text)).toEqual([`${text} [1]`])
  })
  it.each([
    ['a name', 'How high is Statin?', 'The station is 12 m high.'],
    [
      'a word with two neighbours',
      'How high is the stater?',
      'The stager is 12 m high. The states are high.',
    ],
    ['a short word', 'How high is the bord?', 'The bird is 12 m high.'],
    ['a word with another first letter', 'How high is the tower?', 'The lower one is 12 m high.'],
  ])('but not %s', (_, question, text) => {
    expect(spelled(question, text)).toEqual([])
  })
})

it('the nearest statements are of different passages, best first, and of all parts', () => {
  const documents = {
    a: 'The gate of the dock opens at noon. The gate is green.',
    b: 'The lock was built of oak.',
    c: 'Gulls are white.',
  }
  const { sentences, nearest } = read('When does the gate of the lock open?', documents)
  expect(sentences).toEqual([])
  expect(nearest.map(({ sentence }) => sentence)).toEqual([
    'The gate of the dock opens at noon.',
    'The lock was built of oak.',
    'Gulls are white.',
  ])
})

describe('a word of the question is covered', () => {
  it.each([
    ['by another form of a verb', 'Who built the pier?', 'Ruth Baird builds the pier.'],
    [
      'by another word for a measure',
      'What is the maximum depth of a dive?',
      'The greatest depth of a dive is 30 m.',
    ],
    [
      'by the sentence before',
      'Who painted the sign?',
      'The sign is cracked. It was painted by Odile Marsh.',
    ],
    [
      'by the heading',
      'How long is the loaf baked?',
      '# The loaf\n\nThe dough rests. It is baked for 42 minutes.',
    ],
    ['by the row above', 'What was the ash of the rye?', '| Flour | Ash |\n| --- | --- |\n| Rye | 1.35 |'],
    [
      'though its verb is another one',
      'How long can the gauge run without sun?',
      'Without sun the gauge works for nine days.',
    ],
  ])('%s: %s', (_, question, text) => {
    expect(quoted(question, { Notes: text })).not.toEqual([])
  })
})

it('a question for two things is answered in parts, and the part without an answer is open', () => {
  const { sentences, open } = read('How deep is the dock, and how many cranes does it have?', {
    Plan: 'The dock is 6 m deep.',
    Report: 'The quay has four cranes.',
  })
  expect(sentences).toEqual(['The dock is 6 m deep. [1]'])
  expect(open.map(({ part }) => part.text)).toEqual(['how many cranes does it have'])
})

describe('a conflict', () => {
  const conflicts = (question: string, first: string, second: string): number =>
    namedConflicts(question, { A: first, B: second })

  it('is two figures with the same unit, or two years', () => {
    const question = 'How much did the reserve sensor for the tide gauge cost?'
    expect(
      conflicts(
        question,
        'A reserve sensor for the gauge was bought in November for 21,750 euros.',
        'The reserve sensor for the tide gauge was 18,400 euros.',
      ),
    ).toBe(1)
    expect(
      conflicts('When was the pier built?', 'The pier was built in 1871.', 'The pier was built in 1902.'),
    ).toBe(1)
  })

  it.each([
    [
      'days',
      'On which day was the flood?',
      'The flood was on 9 October.',
      'The flood was on 7 October 2023.',
    ],
    ['times', 'At what time does the shop open?', 'The shop opens at 07:00.', 'The shop opens at 07:30.'],
    [
      'names',
      'Who painted the sign?',
      'The sign was painted by Peter Quill.',
      'Odile Marsh painted the sign.',
    ],
    [
      'number words',
      'How high were the waves?',
      'The waves were 7.2 m high.',
      'The waves were nine metres high.',
    ],
    [
      'units of one dimension',
      'How long is the rope?',
      'The rope is 20 m long.',
      'The rope is 1800 cm long.',
    ],
  ])('is two %s', (_, question, ...[first, second]) => {
    expect(conflicts(question, first, second)).toBe(1)
  })

  it.each([
    ['the same weight', 'How heavy is the weight?', 'The weight is 0.125 kg.', 'The weight is 125 g.'],
    ['the same length', 'How long is the rope?', 'The rope is 20 m long.', 'The rope is 2000 cm long.'],
    [
      'the same day',
      'On which day was the flood?',
      'The flood was on 9 October.',
      'It was the flood of 9 October 2023.',
    ],
    [
      'of two years',
      'How many loaves were baked?',
      'In 2022 we baked 171 loaves.',
      'In 2023 we baked 186 loaves.',
    ],
    [
      'of two subjects',
      'How deep is the dock?',
      'The dock is 6 m deep.',
      'The dock has a crane, and the river is 4 m deep.',
    ],
  ])('is not %s', (_, question, ...[first, second]) => {
    expect(conflicts(question, first, second)).toBe(0)
  })

  it('is not two surveys of different years', () => {
    const documents = {
      'Survey of 2019': 'The rock has 6 plants.',
      'Survey of 2023': 'The rock has 4 plants.',
    }
    expect(namedConflicts('How many plants does the rock have?', documents)).toBe(0)
  })

  it('has a newer side if both documents are dated', () => {
    const parts = askedParts({ question: 'How deep is the dock?', about: '' })
    const dock = (titles: readonly [string, string]): Conflict | undefined => {
      const [first, second] = titles
      const documents = { [first]: 'The dock is 6 m deep.', [second]: 'The dock is 4 m deep.' }
      return conflictsIn(extract(evidence(documents), parts).sides, parts)[0]
    }
    const newer = newerOf(dock(['Plan of May 2021', 'Report 2022-03-09']) as Conflict)
    expect([newer?.date, newer?.statement.item.title]).toEqual(['2022-03-09', 'Report 2022-03-09'])
    expect(newerOf(dock(['Plan of May 2021', 'Report']) as Conflict)).toBeUndefined()
  })

  it('is not a heading beside a negation, or a row of another table', () => {
    expect(
      conflicts(
        'Which animals live in holdfasts?',
        'Animals in the holdfasts\n\nCrabs are common.',
        'It has no roots: dozens of animals live between the fingers of holdfasts.',
      ),
    ).toBe(0)
    expect(
      conflicts(
        'How high was the canopy at the rock?',
        '| Canopy rock | 6.2 | 0.95 |',
        '| Canopy rock | 4.9 | 0.90 |',
      ),
    ).toBe(0)
  })

  it('is not a figure beside a name, a day or another unit', () => {
    const question = 'How much did the reserve sensor for the tide gauge cost?'
    const cost = 'The reserve sensor for the tide gauge was 18,400 euros.'
    expect(conflicts(question, cost, 'The reserve sensor for the tide gauge TG-2 is bought this year.')).toBe(
      0,
    )
    expect(conflicts(question, cost, 'The reserve sensor for the tide gauge came on 17 November.')).toBe(0)
    expect(conflicts(question, cost, 'The reserve sensor for the tide gauge weighs 4 kg.')).toBe(0)
  })
})

it.each([
  ['What does the web say about roofs?', true],
  ['Search the papers and the web.', true],
  ['Que dit internet sur les toits ?', true],
  ['What is the web of a spider crab made of?', false],
])('%s: asks for the web: %s', (question, expected) => {
  expect(asksForWeb(question)).toBe(expected)
})

it('the passage of which the words are missed is the first of the nearest', () => {
  const { open, nearest } = read('What is the range of the light?', {
    tether: 'The tether is replaced every 12 months, because ultraviolet light makes it brittle.',
    cell: 'The load cell had a range of 5 kN, read ten times a second.',
    tides: 'The range of spring tides is 4.6 m.',
  })
  expect(open.map(({ lacking }) => lacking)).toEqual([['rang']])
  expect(nearest.map(({ item }) => item.title)).toEqual(['tether', 'tides', 'cell'])
  expect(nearest[0]).toBe(open[0]?.nearest)
})
