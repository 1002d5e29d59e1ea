/** The rules of extractive answers: which sentences are quoted, and what is a conflict. */
import { describe, expect, it } from 'vitest'
import { conflictsIn } from '../../../src/flow/research/conflicts.ts'
import type { Evidence } from '../../../src/flow/research/evidence.ts'
import { extract } from '../../../src/flow/research/extract.ts'
import { asksForWeb, queriesFor } from '../../../src/flow/research/question.ts'
import { contentStems, sentencesOf } from '../../../src/flow/research/words.ts'

/** One passage of each document, all with the same score. */
function evidence(documents: Readonly<Record<string, string>>): readonly Evidence[] {
  return Object.entries(documents).map(([title, text], at) => ({
    ...{ number: at + 1, kind: 'document', id: `p${at + 1}`, documentId: title, title, source: title },
    ...{ page: 1, text, score: 0.8 },
  }))
}

function stemsOf(question: string): readonly (readonly string[])[] {
  return queriesFor({ question, about: '' }).map((query) => contentStems(query))
}

function quoted(question: string, documents: Readonly<Record<string, string>>): readonly string[] {
  return extract(evidence(documents), { question, queries: stemsOf(question), own: stemsOf(question) })
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

describe('the quoted sentences', () => {
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
    const documents = { Report: 'Seals were seen around the island in 2022.' }
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
    'in 2023 How high was the canopy at the rock',
  ])
})

describe('a conflict', () => {
  const conflicts = (question: string, first: string, second: string): number =>
    conflictsIn(evidence({ A: first, B: second }), stemsOf(question)).length

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
