/** The rules for vague questions and for replies to a clarification, in English and French. */
import { describe, expect, test } from 'vitest'
import { decisionIn } from '../../../src/flow/research/orchestrator.ts'
import { asksForWeb, queriesFor } from '../../../src/flow/research/question.ts'
import { isHelpfulReply, missingIn, missingText } from '../../../src/flow/research/vagueness.ts'

const missing = (question: string, hasAntecedent = false): string | undefined => {
  const found = missingIn(question, hasAntecedent)
  return found === undefined ? undefined : missingText(found)
}

test.each([
  ['Tell me about it', 'ambiguous reference: what "it" refers to'],
  ['How accurate is it?', 'ambiguous reference: what "it" refers to'],
  ['What do they conclude?', 'ambiguous reference: what "they" refers to'],
  ['What about that?', 'ambiguous reference: what "that" refers to'],
  ['Who wrote this paper?', 'ambiguous reference: what "this paper" refers to'],
  ['What does the paper say?', 'ambiguous reference: what "the paper" refers to'],
  ['Summarise the paper.', 'ambiguous reference: what "the paper" refers to'],
  ['Résume le rapport', 'ambiguous reference: what "le rapport" refers to'],
  ['Combien coûte-t-il ?', 'ambiguous reference: what "il" refers to'],
  ['Tell me more', 'missing context: the topic'],
  ['I have a question', 'missing context: the topic'],
  [
    'How many examples are enough for good accuracy?',
    'underspecified parameter: what "enough" and "good" mean',
  ],
  ['Which harbour is best?', 'underspecified parameter: what "best" means'],
  ['Parle-moi de ça', 'ambiguous reference: what "ça" refers to'],
  ['Comment fonctionne-t-elle ?', 'ambiguous reference: what "elle" refers to'],
  ['Que dit cet article ?', 'ambiguous reference: what "cet article" refers to'],
  ['Dis-moi en plus', 'missing context: the topic'],
  ['Combien d’exemples suffisent ?', 'underspecified parameter: what "suffisent" means'],
])('%s: %s', (question, expected) => {
  expect(missing(question)).toBe(expected)
})

test.each([
  'How deep is the harbour of Cancale?',
  'What is BERT and how does it work?',
  'De combien l’ancre a-t-elle bougé ?',
  'Quand la station a-t-elle été fondée ?',
  'If a ship enters the harbour, where does it moor?',
  'How long does it take to cross the bay?',
  'Is it true that oysters filter water?',
  'What evidence shows that tides erode the coast?',
  'What is a good temperature for keeping oysters alive?',
  'Which model is best on SQuAD 2.0?',
  'What does the Zhang paper report?',
  'How good is the water of the bay in winter?',
  'Quand le phare a-t-il été construit ?',
  'Y a-t-il des huîtres dans la baie ?',
  'boat to Cancale - in which weather does it sail',
  'How did they keep the gulls off the roof of the station?',
  'Quelle est la profondeur du port de Cancale ?',
])('%s is clear', (question) => {
  expect(missing(question)).toBeUndefined()
})

test.each(['How accurate is it?', 'And the recall?', 'Why?', 'Who wrote this paper?'])(
  '%s is clear after an answer',
  (question) => {
    expect(missing(question, true)).toBeUndefined()
  },
)

describe('a reply to a clarification', () => {
  const QUESTION = 'What is the accuracy of it?'
  test.each([
    'Zhang et al. paper',
    'the one about tides',
    'All papers of Zhang',
    'BERT',
    'the accuracy of BERT',
    'that paper by Zhang',
    'all of the oyster farms',
    'Le papier de Zhang',
    'celui de Lefevre',
  ])('%s helps', (reply) => {
    expect(isHelpfulReply(reply, QUESTION)).toBe(true)
  })
  test.each([
    'it',
    'the accuracy',
    'the accuracies',
    'all of them',
    'both',
    'any',
    'the second one',
    'this one',
    'whatever',
    'yes please',
    'I don’t know',
    'They are the recent ones',
    'ça',
    'tous',
    'je ne sais pas',
    '',
    '???',
  ])('%s does not', (reply) => {
    expect(isHelpfulReply(reply, QUESTION)).toBe(false)
  })
})

test.each([
  ['RESEARCH', []],
  ['No CLARIFICATION is needed.', []],
  ['I think this needs no clarification: RESEARCH', []],
  ['Hm.', []],
  ['CLARIFICATION', ['ambiguous reference: what "it" refers to']],
  ['**CLARIFICATION**: ambiguous reference: which study', ['ambiguous reference: which study']],
  ['clarification: underspecified parameter - the task', ['underspecified parameter: the task']],
  ['\n\nCLARIFICATION: which city', ['ambiguous reference: which city']],
])('the decision %j says what is missing: %j', (reply, expected) => {
  expect(decisionIn(reply, 'Tell me about it')).toEqual(expected)
})

test('a question for several things is searched as a whole and in parts', () => {
  expect(queriesFor({ question: 'How deep is Cancale?', about: '' })).toEqual(['How deep is Cancale?'])
  expect(queriesFor({ question: 'What is the depth of Cancale and Granville?', about: '' })).toEqual([
    'What is the depth of Cancale and Granville?',
    'What is the depth of Cancale',
    'What is the depth of Granville',
  ])
  expect(queriesFor({ question: 'Who built it; when?', about: 'lighthouse' })).toEqual([
    'Who built it; when? lighthouse',
    'Who built it lighthouse',
    'when built lighthouse',
  ])
})

test.each([
  ['Search the web for the newest tide tables', true],
  ['What does the internet say? Look online.', true],
  ['Cherche sur internet le prix du pain', true],
  ['How does a spider build its web?', false],
])('%s asks for the web: %s', (question, expected) => {
  expect(asksForWeb(question)).toBe(expected)
})
