/** Citations: every number exists, every claim has the words of its passages, and everything else is marked. */
import { describe, expect, test } from 'vitest'
import { askedParts } from '../../../src/flow/research/asked-part.ts'
import { readAnswer, writeAnswer } from '../../../src/flow/research/citations.ts'
import { confidenceOf } from '../../../src/flow/research/confidence.ts'
import { conflictsIn } from '../../../src/flow/research/conflicts.ts'
import { type Evidence, evidenceOf } from '../../../src/flow/research/evidence.ts'
import { extract } from '../../../src/flow/research/extract.ts'
import { type ResearchOptions, researchAssistant } from '../../../src/flow/research/index.ts'
import { contentStems, foldText } from '../../../src/flow/research/words.ts'
import { callers, memoryCorpus, memoryWeb, type ResearchScript, researchModel } from './kit.ts'

const evidence: readonly Evidence[] = [
  'The harbour of Cancale is 4 metres deep at high tide. At low tide it dries out.',
  'Oysters are grown on 380 hectares of the foreshore. The farms do not use feed.',
  'The gate of the dock opens 2 hours before high tide.',
].map((text, at) => ({
  number: at + 1,
  kind: 'document',
  id: `p${at + 1}`,
  documentId: `d${at + 1}`,
  title: `Report ${'ABC'[at]}`,
  source: `${at + 1}.pdf`,
  page: at + 7,
  text,
  lead: '',
  score: 0.9,
}))

const marks = { weak: '(weak)', unsupported: '(unsupported)', uncited: '(uncited)' }
const check = (text: string) => {
  const read = readAnswer(text, evidence)
  return { ...writeAnswer(read, { evidence, marks }), invented: read.invented }
}

describe('a claim', () => {
  test.each([
    ['The harbour is 4 metres deep at high tide [1].', 'supported'],
    ['At high tide, Cancale’s harbour has a depth of 4 metres [1].', 'supported'],
    ['The harbour floods a quay with mud and weed [1].', 'weak'],
    ['Mud and weed cover the bottom, which ships avoid [1].', 'weak'],
    ['The harbour is 5 metres deep at high tide [1].', 'unsupported'],
    ['The harbour is 4 metres deep at high tide [2].', 'unsupported'],
    ['The harbour of Granville is 4 metres deep at high tide [1].', 'unsupported'],
    ['The harbour that Jules Verne describes is 4 metres deep at high tide [1].', 'unsupported'],
    ['The harbour is 4 metres deep at high tide, above BM-4 [1].', 'unsupported'],
    ['Napoleon founded a shipyard for frigates there [1].', 'unsupported'],
    ['The farms use feed [2].', 'unsupported'],
    ['The harbour does not dry out at low tide [1].', 'unsupported'],
    ['The harbour is 4 metres deep at high tide.', 'uncited'],
    ['The harbour is 4 metres deep at high tide [9].', 'uncited'],
  ])('%s is %s', (text, verdict) => {
    expect(check(text).claims.map((claim) => claim.verdict)).toEqual([verdict])
  })

  test.each([
    ['It was opened in the year 25 of the republic [1].', 'in the year twenty-five of the republic'],
    ['It was opened in the 19th century of the republic [1].', 'in the nineteenth century of the republic'],
    ['It was opened by 1,200,000 people of the republic [1].', 'by 1.2 million people of the republic'],
    ['It was opened on 1872-07-14, in the republic [1].', 'on 14 July 1872, in the republic'],
    ['It was opened by Dr Dupont of Saint Malo in the republic [1].', 'by Dupont of Malo in the republic'],
    ['It was opened by the WHO in the republic [1].', 'by the World Health Organization in the republic'],
    ['It was opened by the World Health Organization there [1].', 'by the WHO, world health for all'],
    ['It was opened by a French crew of the republic [1].', 'by a crew of the republic, from France'],
    ['It was opened at BM-4, 7.886 m above the republic [1].', 'at BM-4, 7.886 m above the republic'],
    ['**Date:** Opened by a crew of the republic, see Table B [1].', 'by a crew of the republic'],
  ])('%s has the figures and names of: opened %s', (text, opened) => {
    const [first] = evidence as readonly [Evidence]
    const { claims } = readAnswer(text, [{ ...first, text: `It was opened ${opened}.` }])
    expect(claims.map(({ verdict }) => verdict)).toEqual(['supported'])
  })

  test.each([
    ['It was opened on 12.03.2021 [1].', 'on 12.03.2021', 'supported'],
    ['It was opened on 12.03.2021 [1].', 'on 12 March 2021', 'supported'],
    ['It was opened on 12.03.2021 [1].', 'on 15.09.2022', 'unsupported'],
    ['It was opened in 2021 [1].', 'on 15.09.2021', 'supported'],
    ['It was opened with version 1.2.3 [1].', 'with version 4.5.6', 'unsupported'],
    ['Version 1.2.3 may be opened [1].', 'with version 1.2.3', 'supported'],
    ['It was opened by 0.125 mm [1].', 'by 0,125 mm', 'supported'],
    ['It was opened by 125 mm [1].', 'by 0.125 mm', 'unsupported'],
    ['It was opened by 1,234.567 m [1].', 'by 1234.567 m', 'supported'],
  ])('%s beside a source that says %s is %s', (text, opened, verdict) => {
    const [first] = evidence as readonly [Evidence]
    const { claims } = readAnswer(text, [{ ...first, text: `It was opened ${opened}.` }])
    expect(claims.map((claim) => claim.verdict)).toEqual([verdict])
  })

  test('may name what another passage of its document, its title, its page or its file names', () => {
    const [first, second] = evidence as readonly [Evidence, Evidence]
    const cited = {
      ...first,
      text: 'It dries out at low tide.',
      title: 'Survey of 1998',
      lead: 'The Herpin.',
    }
    const other = { ...second, documentId: first.documentId, text: 'The port of Granville has a dock.' }
    const verdicts = (text: string) => readAnswer(text, [cited, other]).claims.map(({ verdict }) => verdict)
    expect(verdicts('In 1998, Granville’s dock dries out at low tide, as page 7 says [1].')).toEqual([
      'supported',
    ])
    expect(verdicts('At low tide the dock of Cancale dries out [1].')).toEqual(['unsupported'])
  })

  test('in another language than its sources is not judged by its names', () => {
    const text =
      'Le port de Londres est à sec à la basse mer, et les bateaux de la baie sont sur le sable [1].'
    expect(check(text).claims.map(({ verdict }) => verdict)).toEqual(['weak'])
  })

  test('sentences that state nothing are left alone', () => {
    const text =
      '## Depth\n\nHere is what the reports say about the harbour:\n\nThe documents do not mention the price of mooring.\n\nWhich harbour?'
    expect(check(text)).toMatchObject({ text, claims: [] })
  })
})

test('numbers that no source has are removed and reported, the others are numbered anew in their order', () => {
  const answer = [
    '- The gate of the dock opens 2 hours before high tide [3, 8].',
    '- Oysters are grown on 380 hectares. [2][12] At low tide the harbour dries out [1](https://invented.example).',
    '- All of it was measured by satellites in orbit [7].',
  ].join('\n')
  const { text, sources, invented } = check(answer)
  expect(text).toBe(
    [
      '- The gate of the dock opens 2 hours before high tide [1].',
      '- Oysters are grown on 380 hectares [2]. At low tide the harbour dries out [3].',
      '- All of it was measured by satellites in orbit. (uncited)',
    ].join('\n'),
  )
  expect(invented).toEqual([7, 8, 12])
  expect(sources.map(({ number, title, page, quote }) => [number, title, page, quote])).toEqual([
    [1, 'Report C', 9, 'The gate of the dock opens 2 hours before high tide.'],
    [2, 'Report B', 8, 'Oysters are grown on 380 hectares of the foreshore.'],
    [3, 'Report A', 7, 'At low tide it dries out.'],
  ])
})

test('a quote has the sentences of all claims that cite its source, as they stand in the passage', () => {
  const text =
    'The quay is old. The harbour is 4 metres deep. It has a crane.\nThe master is Anna Reid. A boat sank.'
  const [first] = evidence as readonly [Evidence]
  const answer =
    '- The master is Anna Reid [1].\n- The harbour is 4 metres deep [1].\n\n## Sources\n\n[1] Report A, page 7'
  const items = [{ ...first, text }]
  const { sources } = writeAnswer(readAnswer(answer, items), { evidence: items, marks })
  expect(sources.map(({ quote }) => quote)).toEqual([
    'The harbour is 4 metres deep. It has a crane. The master is Anna Reid.',
  ])
})

test('a list of the sources at the end of an answer is supported by them: their titles, files and pages', () => {
  const { text, claims } = check(
    'The gate opens 2 hours before high tide [3].\n\n## Sources\n\n[3] Report C, page 9\n[3] 3.pdf, page 9\n[3] Report C, page 8',
  )
  expect(claims.map(({ verdict }) => verdict)).toEqual(['supported', 'supported', 'supported', 'unsupported'])
  expect(text).toContain('[1] Report C, page 9\n[1] 3.pdf, page 9\n')
})

test('code is left alone, and text behind a fence that is never closed is checked', () => {
  const code = ['```js', 'const [first] = tides[0]', '```']
  const claim = 'The gate of the dock opens 2 hours before high tide'
  expect(check([...code, `${claim} [3].`, '```', `${claim} [9].`].join('\n'))).toMatchObject({
    text: [...code, `${claim} [1].`, '', `${claim}. (uncited)`].join('\n'),
    invented: [9],
  })
})

test('a line that begins with code in backticks is no fence', () => {
  const [tide, claim, gate] = [
    '```tide``` is it.',
    'All ships moor in the harbour of Cancale',
    '```gate``` is, too.',
  ]
  expect(check([tide, `${claim} [9].`, gate].join('\n'))).toMatchObject({
    text: [tide, `${claim}. (uncited)`, gate].join('\n'),
    invented: [9],
  })
})

test('ranges and several numbers count, and a year or a list index is no citation', () => {
  const { sources, claims } = check(
    'The harbour dries out, oysters are grown, and the dock has a gate [1-3]. In 1998 [sic] it was so.',
  )
  expect(sources.map(({ number }) => number)).toEqual([1, 2, 3])
  expect(claims[0]?.citations).toEqual([1, 2, 3])
})

describe('answers of a model', () => {
  const QUESTION = 'How deep is the harbour of Cancale at low tide?'
  const ask = async (script: ResearchScript, options: Partial<ResearchOptions> = {}) => {
    const model = researchModel(script)
    const flow = researchAssistant({ corpus: memoryCorpus(), model, ...options })
    const { state } = await flow.invoke({ messages: { role: 'user', content: QUESTION } })
    return { state, model }
  }

  test('an invented citation is caught: it leaves the answer, and the sentence is marked', async () => {
    const { state } = await ask({
      synthesis: 'At low tide it dries out [1]. Ships of 90 metres moor there all year [42].',
    })
    expect(state.final_answer).toContain(
      'At low tide it dries out [1]. Ships of 90 metres moor there all year. *(no source)*',
    )
    expect(state.final_answer).not.toContain('42')
    expect(state.context.invented).toEqual([42])
    expect(state.context.sources).toMatchObject([{ number: 1, page: 2, quote: 'At low tide it dries out.' }])
    expect(state.confidence_score).toBeLessThan(0.5)
    expect(state.final_answer).toContain('low confidence')
  })

  test('an answer without any source is refused', async () => {
    const { state } = await ask({
      synthesis: 'The harbour of Cancale is famous for its regattas and its wines [42].',
    })
    expect(state.final_answer).toMatch(
      /^\*\*Not found\.\*\*.*\n\nThe model wrote an answer without a single source/,
    )
    expect(state).toMatchObject({ confidence_score: 0, context: { sources: [] } })
  })

  test.each([
    '```markdown\nAt low tide it dries out [1].\n```',
    'Not found in the survey, but at low tide the harbour of Cancale dries out [1].',
  ])('an answer with a source is shown, whatever surrounds it: %s', async (synthesis) => {
    const { state } = await ask({ synthesis })
    expect(state.context.sources).toMatchObject([{ number: 1, title: 'Harbours of the bay', page: 2 }])
    expect(state.final_answer).not.toContain('```')
  })

  test('a claim that the model’s own check refutes is marked, although its words fit', async () => {
    const script = {
      synthesis: 'At low tide it dries out [1]. The harbour of Cancale is 4 metres deep [1].',
      support: '```json\n{"unsupported": [2]}\n```',
    }
    const { state, model } = await ask(script)
    expect(state.context.claims?.slice(0, 2).map(({ verdict }) => verdict)).toEqual(['supported', 'weak'])
    expect(state.final_answer).toContain('The harbour of Cancale is 4 metres deep [1]. *(weakly supported)*')
    expect(model.calls.at(-1)?.settings.temperature).toBe(0)
    const { model: unchecked } = await ask(script, { agents: { synthesis: { modelCheck: false } } })
    expect(callers(unchecked)).not.toContain('support')
  })

  test.each([
    ['At low tide it dries out [1]. It was dug in 1901 by Jules Verne [1].', 0.5],
    ['The harbour of Cancale was dug in 1901 by Jules Verne [1].', 0],
    ['The harbour of Cancale that Jules Verne dug is 4 metres deep at high tide [1].', 0],
  ])('a figure or a name that no cited source has is no support: %s', async (synthesis, confidence) => {
    const { state } = await ask({ synthesis })
    expect(state.final_answer).toContain('[1]. *(unsupported)*')
    expect(state.final_answer).not.toContain('weakly')
    expect(state.confidence_score).toBeLessThanOrEqual(confidence)
  })

  test('minSupport is the threshold', async () => {
    const script = { synthesis: 'Low tide leaves mud and stranded hulls behind [1].' }
    const verdicts = async (minSupport: number) => {
      const { state } = await ask(script, { agents: { synthesis: { minSupport } } })
      return state.context.claims?.map(({ verdict }) => verdict)
    }
    expect([await verdicts(0.2), await verdicts(0.9)]).toEqual([['supported'], ['weak']])
  })

  test('a conflict that the model does not name is named with both sides', async () => {
    const flow = researchAssistant({
      corpus: memoryCorpus(),
      model: researchModel({ synthesis: 'The harbour of Cancale is 4 metres deep at high tide [1].' }),
    })
    const content = 'How deep is the harbour of Cancale at high tide?'
    const { state } = await flow.invoke({ messages: { role: 'user', content } })
    expect(state.final_answer).toContain(
      '**The sources disagree:** The harbour of Cancale is 4 metres deep at high tide [1]. The harbour of Cancale is 6 metres deep at high tide [2].',
    )
    expect(state.context.conflicts).toEqual([
      'Harbours of the bay, page 2: The harbour of Cancale is 4 metres deep at high tide. / Survey of 1998, page 2: The harbour of Cancale is 6 metres deep at high tide.',
    ])
    expect(state.confidence_score).toBeLessThan(0.5)
  })

  test('both sides of a conflict may be cited in one pair of brackets', async () => {
    const synthesis = 'The harbour of Cancale is 4 or 6 metres deep at high tide [1, 2].'
    const flow = researchAssistant({ corpus: memoryCorpus(), model: researchModel({ synthesis }) })
    const content = 'How deep is the harbour of Cancale at high tide?'
    const { state } = await flow.invoke({ messages: { role: 'user', content } })
    expect(state.final_answer).toContain('[1][2].\n\n**The sources disagree:** [1], [2].')
  })

  test('a year of the question that no cited source has is named', async () => {
    const asked = async (content: string) => {
      const synthesis = 'The harbour of Cancale is 4 metres deep at high tide [1].'
      const flow = researchAssistant({ corpus: memoryCorpus(), model: researchModel({ synthesis }) })
      return (await flow.invoke({ messages: { role: 'user', content } })).state.final_answer
    }
    expect(await asked('How deep was the harbour of Cancale in 2015?')).toContain(
      '**Not in the cited sources:** "2015".',
    )
    expect(await asked('How deep is the harbour of Cancale?')).not.toContain('Not in the cited sources')
  })
})

describe('without a model', () => {
  const ask = async (content: string, options: Partial<ResearchOptions> = {}) => {
    const { state } = await researchAssistant({ corpus: memoryCorpus(), ...options }).invoke({
      messages: { role: 'user', content },
    })
    return state
  }

  test.each(['reflex', undefined] as const)(
    'sentences are quoted, and the answer says so (model %s)',
    async (model) => {
      const state = await ask(
        'Who carried out the survey of the coast?',
        model === undefined ? {} : { model },
      )
      expect(state.final_answer).toBe(
        'Sentences from the sources, quoted as they stand. This answer is extractive: no language model wrote it.\n\n- The survey of the coast was carried out by Lefevre in 1998 [1].',
      )
      expect(state.context.sources).toMatchObject([{ title: 'Survey of 1998', page: 1 }])
      expect(state.confidence_score).toBe(0.72)
    },
  )

  test('reference numbers of a quoted document are no citations', async () => {
    const documents = [
      { title: 'Dock', pages: ['The gate of the dock of Granville was built by Lefevre [2].'] },
      { title: 'Gate', pages: ['The gate of the dock of Granville was painted green in the spring [1-3].'] },
    ]
    const { final_answer, context } = await ask('Who built the gate of the dock of Granville?', {
      corpus: memoryCorpus(documents),
    })
    expect(final_answer).toContain('- The gate of the dock of Granville was built by Lefevre [1].')
    expect(context).toMatchObject({ invented: [], sources: [{ number: 1, title: 'Dock' }] })
    expect(context.sources).toHaveLength(1)
    const refused = await ask('Who painted the gate of the lock of Granville?', {
      corpus: memoryCorpus(documents),
    })
    expect(refused.final_answer).toContain('The nearest passages')
    expect(refused.final_answer).not.toMatch(/\[\d/)
  })

  test('a word of the question is no failure of a search', async () => {
    const { final_answer } = await ask('Which engine failed and found nothing on the ferry Zostera?')
    expect(final_answer).toMatch(/^\*\*Not found\.\*\*/)
    expect(final_answer).not.toContain('A search failed')
    const gate = await ask('Which gate of the dock found nothing?')
    expect(gate.final_answer).not.toMatch(/found \d+ passages?/)
  })

  test('French questions get French texts', async () => {
    const state = await ask('Quand le phare de la Pierre-de-Herpin a-t-il été construit ?')
    expect(state.final_answer).toMatch(
      /^Phrases tirées des sources.*extractive.*\n\n- Le phare de la Pierre-de-Herpin a été construit en 1882 \[1\]\.$/,
    )
    const vague = await ask('Parle-moi de ça')
    expect(vague.missing_context).toEqual(['ambiguous reference: what "ça" refers to'])
    expect(vague.final_answer).toMatch(/^À quoi "ça" fait-il référence/)
    expect((await ask('Quel est le prix du pain ?')).final_answer).toContain('**Introuvable.**')
  })

  test('a question whose words are only partly there is refused', async () => {
    for (const question of [
      'What is the population of Cancale?',
      'How much does a mooring in Granville cost?',
    ])
      expect(await ask(question)).toMatchObject({ confidence_score: 0, context: { sources: [] } })
  })

  test('a refusal says what is missing and shows the nearest passages, which are no sources', async () => {
    const { final_answer, context } = await ask('When does the gate of the lock at Granville open?')
    expect(final_answer).toContain(
      'The nearest passage says nothing about "lock".\n\nThe nearest passages, which may say it in other words:\n\n- Harbours of the bay, page 3: The gate of the dock opens 2 hours before high tide.',
    )
    expect(context.sources).toEqual([])
  })

  test('the part of a question that is not found is named beside the answer to the other', async () => {
    const { final_answer } = await ask(
      'Who carried out the survey of the coast, and how tall is the lighthouse?',
    )
    expect(final_answer).toContain('- The survey of the coast was carried out by Lefevre in 1998 [1].')
    expect(final_answer).toContain('**Not found:** "how tall is the lighthouse"')
  })

  test('the newer one of two documents that disagree is named', async () => {
    const dock = (depth: number): string => `The dock is ${depth} metres deep.`
    const documents = [
      { title: 'Plan of 1998', pages: [dock(4)] },
      { title: 'Survey of 2021', pages: [dock(6)] },
    ]
    const { final_answer } = await ask('How deep is the dock?', { corpus: memoryCorpus(documents) })
    expect(final_answer).toMatch(
      /\*\*The sources disagree:\*\* \[\d\], \[\d\]\.\n\nThe newer document is \[2\], of 2021\./,
    )
  })

  test('web pages are cited like passages', async () => {
    const page = {
      url: 'https://example.com/wind',
      title: 'Wind of the bay',
      text: 'Menu. Home.\n\nThe strongest wind of the bay was measured at 160 km/h. It blew in 1987.\n\nImprint.',
    }
    const state = await ask('How strong was the strongest wind that was measured?', {
      web: memoryWeb([page]),
    })
    expect(state.final_answer).toContain('- The strongest wind of the bay was measured at 160 km/h [1].')
    expect(state.context.sources).toMatchObject([
      {
        kind: 'web',
        source: page.url,
        page: null,
        quote: 'The strongest wind of the bay was measured at 160 km/h.',
      },
    ])
  })
})

test('many passages leave room for the pages of the web', () => {
  const passages = Array.from({ length: 30 }, (_, at) => ({
    ...{ id: `p${at}`, documentId: 'd', title: 'Log', source: 'log.pdf', page: 1 },
    ...{ start: 0, end: 1, text: 'x', score: 0.5 },
  }))
  const pages = ['a', 'b'].map((id) => ({
    id,
    url: 'https://example.com',
    title: 'Web',
    text: 'y',
    score: 0.9,
  }))
  const numbered = evidenceOf({ pdf_results: passages, web_results: pages })
  expect(numbered).toHaveLength(24)
  expect(numbered.slice(-3).map(({ number, id }) => [number, id])).toEqual([
    [22, 'p21'],
    [23, 'a'],
    [24, 'b'],
  ])
  expect(evidenceOf({ pdf_results: passages.slice(0, 23), web_results: pages.slice(0, 1) })).toHaveLength(24)
  expect(evidenceOf({ pdf_results: passages })).toHaveLength(24)
})

describe('confidence', () => {
  const grounds = {
    question: contentStems('harbour tide'),
    claims: [{ text: '', citations: [1], support: 1, verdict: 'supported' as const }],
    cited: evidence.slice(0, 1),
    hasConflicts: false,
    hasAssumption: false,
    isExtractive: false,
  }
  test.each([
    ['one document', {}, 0.87],
    ['two documents', { cited: evidence.slice(0, 2) }, 0.93],
    ['three documents', { cited: evidence }, 0.97],
    ['no source', { cited: [] }, 0],
    ['half of the question', { question: contentStems('harbour price') }, 0.65],
    ['low scores', { cited: [{ ...(evidence[0] as Evidence), score: 0.1 }] }, 0.63],
    ['a conflict', { hasConflicts: true }, 0.43],
    ['an assumption', { hasAssumption: true }, 0.52],
    ['quoted sentences', { isExtractive: true }, 0.7],
  ])('of %s', (_, other, expected) => {
    expect(confidenceOf({ ...grounds, ...other })).toBe(expected)
  })
})

test('documents conflict by figures or by a negation, one document never with itself', () => {
  const statement = (text: string, at: number): Evidence => ({
    ...(evidence[0] as Evidence),
    id: `q${at}`,
    documentId: `q${at}`,
    title: '',
    text,
  })
  const parts = askedParts({ question: 'harbour depth', about: '' })
  const found = (...texts: readonly string[]) =>
    conflictsIn(extract(texts.map(statement), parts).sides, parts).length
  expect(found('The harbour depth is 4 metres.', 'The harbour depth is 6 metres.')).toBe(1)
  expect(found('The harbour depth is 4 metres.', 'The depth of the harbour is 4 metres.')).toBe(0)
  expect(found('The harbour depth was measured.', 'The harbour depth was not measured.')).toBe(1)
  expect(found('The harbour depth is 4 metres.', 'The harbour has 6 cranes for boats.')).toBe(0)
  expect(found('The harbour depth is 4 metres. The harbour depth is 6 metres.')).toBe(0)
})

test.each([
  ['чай', 'чаи', false],
  ['दिन', 'दान', false],
  ['Nérée', 'neree', true],
  ['за́мок', 'замок', true],
  ['كِتَاب', 'كتاب', true],
  ['ΑΝΘΡΩΠΟΙ', 'άνθρωποι', true],
])('%s and %s are compared by the marks that make another word', (one, other, isSame) => {
  expect(foldText(one) === foldText(other)).toBe(isSame)
  expect(foldText(one.normalize('NFD'))).toBe(foldText(one))
})
