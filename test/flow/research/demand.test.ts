/** The demand of a question: the kind of its answer, and the words that an answer must have. */
import { expect, it } from 'vitest'
import { demandOf } from '../../../src/flow/research/demand.ts'
import { partsOf } from '../../../src/flow/research/question-parts.ts'

it.each([
  ['Who drives the van?', 'person'],
  ['When was the mill built?', 'date'],
  ['Until when is the file kept?', 'deadline'],
  ['In which year did it open?', 'year'],
  ['At what time does it open?', 'time'],
  ['On which day was the flood?', 'date'],
  ['Where is the key?', 'place'],
  ['Why is the crust pale?', 'reason'],
  ['How many loaves are there?', 'count'],
  ['How much does a loaf cost?', 'money'],
  ['How much flour was used?', 'quantity'],
  ['By how much did the price rise?', 'quantity'],
  ['How often is it cleaned?', 'interval'],
  ['How heavy is the sinker?', 'dimension mass'],
  ['How long is the rope?', 'dimension length duration'],
  ['What is the temperature of the oven?', 'dimension temperature'],
  ['What colour is the bin?', 'colour'],
  ['What is the starter called?', 'name'],
  ['What is a holdfast?', 'any'],
  ['Combien de homards y a-t-il ?', 'count'],
  ['Combien a coûté la chaîne ?', 'money'],
  ['Quand la station a-t-elle ouvert ?', 'date'],
])('%s asks for: %s', (question, kind) => {
  expect(demandOf(question).kind).toBe(kind)
})

it('names, codes and figures, the verb, the measure and light words are told apart', () => {
  expect(demandOf('How long can the tide gauge TG-2 run without sun in 2022?')).toMatchObject({
    names: ['tg2', '2022'],
    required: ['tid', 'gaug', 'sun'],
    predicates: ['run'],
    measures: ['long'],
  })
  expect(demandOf('Which fee did the report name for new members?')).toMatchObject({
    required: ['fee', 'memb'],
    light: ['report', 'nam', 'new'],
    focus: 'fee',
  })
})

it.each([
  ['How deep is the dock?', ['How deep is the dock']],
  ['What did it cost, and when was it built?', ['What did it cost', 'when was it built']],
  [
    'How many plants were there in 2019 and 2023?',
    ['How many plants were there in 2019', 'How many plants were there in 2023'],
  ],
  [
    'Compare the ash of the rye in 2022 with that of 2024.',
    ['the ash of the rye in 2022', 'the ash of the rye in 2024'],
  ],
  [
    'How deep is the water at Cancale and Granville?',
    ['How deep is the water at Cancale', 'How deep is the water at Granville'],
  ],
  ['Was the largest wave below the design wave?', ['Was the largest wave', 'the design wave']],
  ['Quand ouvre le musée et où est la caisse ?', ['Quand ouvre le musée', 'où est la caisse']],
  ['I am new here. How deep is the dock?', ['How deep is the dock']],
  ['What happened between 3 and 21 June?', ['What happened between 3 and 21 June']],
])('%s has the parts %j', (question, parts) => {
  expect(partsOf(question).map(({ text }) => text)).toEqual(parts)
})
