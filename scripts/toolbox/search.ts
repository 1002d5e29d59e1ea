/**
 * The searching tools on generated input: random trees beside a search with JavaScript, searches while a folder is swapped
 * for a link, and random source texts in every language. Each difference, each line from outside and each exception is a
 * fault.
 */
import { asyncProperty, check, constantFrom, string } from 'fast-check'
import { LANGUAGES } from '../../src/toolbox/definition-languages.ts'
import { definitionsIn } from '../../src/toolbox/definitions.ts'
import { installedGrammars } from '../../src/toolbox/grammars.ts'
import { searchProperty } from '../../test/toolbox/search-property.ts'
import { raceSearch } from '../../test/toolbox/search-race.ts'

export interface SearchRun {
  /** Trees, searches and, in each language, texts. */
  readonly count: number
  readonly report: (line: string) => void
}

export interface SearchFindings {
  readonly trees: number
  readonly raced: number
  readonly texts: number
  readonly faults: readonly string[]
}

export async function run({ count, report }: SearchRun): Promise<SearchFindings> {
  const compared = await check(searchProperty, { numRuns: count })
  const different = compared.failed ? [`seed ${compared.seed}: ${String(compared.errorInstance)}`] : []
  report(`${count} random trees: ${different.length} differ`)
  const outside = await raceSearch(count)
  report(`${count} searches while a folder is swapped: ${outside.length} lines from outside`)
  const broken = await parseRandomTexts(count)
  report(`${count} random texts in ${LANGUAGES.length} languages: ${broken.length} fail`)
  return {
    trees: count,
    raced: count,
    texts: count * LANGUAGES.length,
    faults: [...different, ...outside, ...broken],
  }
}

const WORDS = [
  'class',
  'function',
  'def',
  'fn',
  'func',
  'impl',
  'export',
  'const',
  'type',
  'interface',
  'enum',
  'A',
  'b',
]
const MARKS = [
  '(',
  ')',
  '{',
  '}',
  '[',
  ']',
  '<',
  '>',
  '=',
  ':',
  ';',
  ',',
  '.',
  '"',
  "'",
  '`',
  '${',
  '=>',
  '\n',
  ' ',
  '\t',
  '\0',
  '\uD800',
  '#',
  '//',
  '/*',
]

async function parseRandomTexts(count: number): Promise<readonly string[]> {
  const parser = await installedGrammars.parser()
  const faults: string[] = []
  try {
    for (const language of LANGUAGES) {
      const grammar = await installedGrammars.of(language)
      const property = asyncProperty(text, async (source) => {
        definitionsIn(source, parser, grammar)
      })
      const { failed, seed, errorInstance } = await check(property, { numRuns: count })
      if (failed) faults.push(`${language.id}, seed ${seed}: ${String(errorInstance)}`)
    }
  } finally {
    parser.delete()
  }
  return faults
}

const text = string({ unit: constantFrom(...WORDS, ...MARKS, ...MARKS), maxLength: 300 })
