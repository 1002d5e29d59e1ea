/** List positions in people's words. */
import { describe, expect, it } from 'vitest'
import { writtenAs } from '../../src/grounding/mentions.ts'
import { ordinalsIn, ordinalsOf } from '../../src/grounding/ordinals.ts'
import { isTypoOf } from '../../src/grounding/text-normalize.ts'
import { normalLabel } from '../../src/protocol/index.ts'
import { project, task } from './kit.ts'

/** Positions; those written as a number have a #. */
const text = (ordinals: ReturnType<typeof ordinalsOf>): string =>
  ordinals.map(({ place, isNumber }) => `${isNumber ? '#' : ''}${place}`).join(' ')

describe('a value that is a place', () => {
  it.each([
    ['2', '#2'],
    ['#2', '#2'],
    ['no 2', '#2'],
    ['n°2', '#2'],
    ['№ 2', '#2'],
    ['numéro 2', '#2'],
    ['project 2', '#2'],
    ['Projet 2', '#2'],
    ['le projet n° 2', '#2'],
    ['project two', '#2'],
    ['the second one', '2'],
    ['second project', '2'],
    ['le deuxième', '2'],
    ['La Seconde', '2'],
    ['2nd', '2'],
    ['2ème', '2'],
    ['1er', '1'],
    ['last', '-1'],
    ['la dernière', '-1'],
    ['the last project', '-1'],
    ['1 and 3', '#1 #3'],
    ['1 et 3', '#1 #3'],
    ['1, 2 & 4', '#1 #2 #4'],
    ['1 to 3', '#1 #2 #3'],
    ['1 à 3', '#1 #2 #3'],
    ['the first and the third', '1 3'],
  ])('%s', (value, places) => {
    expect(text(ordinalsOf(value, project))).toBe(places)
  })
  it.each([
    '',
    'Champigny',
    '-2',
    '0',
    '007',
    '2.5',
    '1,500',
    'p2',
    'one',
    '2 rue de la Paix',
    'task 2',
    '8dbc',
    '20000',
  ])('is not %j', (value) => {
    expect(ordinalsOf(value, project)).toEqual([])
  })
})

describe('a text speaks of places', () => {
  it.each([
    ['Show tasks for project 2', '#2'],
    ['show tasks for projects 1 and 3', '#1 #3'],
    ['les tâches des projets 1 et 3 stp', '#1 #3'],
    ['add 2 hours to the second one', '2'],
    ['la deuxième tâche du projet 3', '#3'],
    ['the last one please', '-1'],
    ['open the first for me', '1'],
    ['assign the second to Bob', '2'],
    ['the second and the third', '2 3'],
    ['project 2 and 3 hours', '#2'],
    ['projects 1, 2 and 4, for 5 hours', '#1 #2 #4'],
    ['number 2 please', '#2'],
    ['2', '#2'],
    ['oui, 1 et 3', '#1 #3'],
  ])('%s', (said, places) => {
    expect(text(ordinalsIn(said, project, [project, task]))).toBe(places)
  })
  it.each([
    '120 €',
    'pay 2 euros',
    'add 2 hours',
    'no, 2 hours',
    'last week',
    'on the second floor',
    'second-hand',
    'second to last',
    "l'avant-dernier",
    'le premier du mois',
    'le 2 mai',
    'task 2',
    'task #2',
    'the second task',
    'look at 00b1ebbe-8dbc, now',
  ])('and not in %j', (said) => {
    expect(ordinalsIn(said, project, [project, task])).toEqual([])
  })
})

describe('an id in a text', () => {
  it.each([
    ['Open abc-1.', 'abc-1', true],
    ['(abc-1)', 'abc-1', true],
    ['see https://x.test/projects/abc-1.', 'abc-1', true],
    ['https://x.test/projects/abc-1/?tab=2#top', 'abc-1', true],
    ['x.test:80/projects/abc-1', 'abc-1', true],
    ['http://x/abc-1/foo', 'abc-1', false],
    ['http://abc-1/foo', 'abc-1', false],
    ['https://x.test/find?near=abc-1', 'abc-1', false],
    ['a/12345', '12345', false],
    ['logs/abc-1', 'abc-1', false],
    ['C:\\logs\\abc-1', 'abc-1', false],
    ['abc-1/logs', 'abc-1', false],
    ['projects/abc-1', 'abc-1', true],
    ['close abc-1/abc-2, please', 'abc-1', true],
    ['close abc-1/abc-2.', 'abc-2', true],
    ['and/or abc-1', 'abc-1', true],
    ['and/or/a/12', 'a/12', false],
    ['open a/12', 'a/12', true],
    ['abc-12', 'abc-1', false],
    ['xabc-1', 'abc-1', false],
    ['abc-1-b', 'abc-1', false],
    ['abc-1.pdf', 'abc-1', false],
    ['me@abc-1', 'abc-1', false],
    ['@12345', '12345', false],
    ['+12345', '12345', false],
    ['me@abc-1', 'abc', false],
    ['open 12', '12', true],
    ['open #12.', '12', true],
    ['12 €, $12, 12%, 1.12, 12:30, 12/05', '12', false],
    ['project 12', '12', true],
    ['task 12', '12', false],
    ['tâche n° 12', '12', false],
    ['task (id: abc-1)', 'abc-1', false],
    ['the task in project abc-1', 'abc-1', true],
  ])('%j has %s: %s', (said, id, isSaid) => {
    const isNounOf =
      ({ nouns: { one, many } }: typeof task) =>
      (word: string) =>
        one.has(word) || many.has(word)
    const isId = (part: string): boolean => /^abc-\d+$/.test(part)
    const rules = { isOwnNoun: isNounOf(project), isOtherNoun: isNounOf(task), isId }
    expect(writtenAs(said, id, rules)).toBe(isSaid ? id : undefined)
  })
})

describe('a label', () => {
  it('is the same in another dress', () => {
    for (const dress of ['Œuvre d’Été', 'OEUVRE D ETE', ' oeuvre  d-été!', 'œuvre d\u2019e\u0301te\u0301'])
      expect(normalLabel(dress)).toBe('oeuvre d ete')
  })
  it('keeps the letters of other scripts', () => {
    expect(normalLabel('東京ガス')).toBe('東京ガス')
    expect(normalLabel('कि')).not.toBe(normalLabel('क'))
    expect(normalLabel('🏗️')).not.toBe('')
  })
  it.each([
    ['champigni', 'champigny', true],
    ['chmapigny', 'champigny', true],
    ['champign', 'champigny', true],
    ['champpigny sud', 'champigny sud', true],
    ['champigny', 'champigny', false],
    ['phase 1', 'phase 2', false],
    ['bureau est', 'bureau ouest', false],
    ['nord', 'sord', false],
    ['champigny', 'champigny sud', false],
  ])('%s is %s with typos: %s', (given, label, isTypo) => {
    expect(isTypoOf(given, label)).toBe(isTypo)
  })
})
