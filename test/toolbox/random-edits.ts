/** Random files and random blocks for them: most fit, some do not, and some have markers in the wrong places. */
import { type Arbitrary, array, boolean, constantFrom, integer, nat, oneof, tuple } from 'fast-check'

const LINES = [
  'a',
  'b',
  'ab',
  'aa',
  '',
  ' a',
  'a ',
  '======',
  '========',
  '-------',
  '+++++++',
  'é😀',
  'REPLACE',
  '\ta\r',
]
const MARKERS = [
  '=======',
  '------- SEARCH',
  '+++++++ REPLACE',
  '<<<<<<< SEARCH',
  '++++++ REPLACE',
  '=======  ',
  '--- search',
]

const line = constantFrom(...LINES)
const lines = (min: number, max: number): Arbitrary<string[]> =>
  array(line, { minLength: min, maxLength: max })

const file: Arbitrary<string> = tuple(lines(0, 12), constantFrom('\n', '\n', '\r\n', 'mixed'), boolean()).map(
  ([each, ending, isEnded]) =>
    each
      .map(
        (text, at) =>
          text +
          (at === each.length - 1 && !isEnded ? '' : ending === 'mixed' ? ['\n', '\r\n'][at % 2] : ending),
      )
      .join(''),
)

/** Text of the file itself, by whole lines or from the middle of them; or any text. */
function searchIn(text: string): Arbitrary<string> {
  // Half a surrogate pair is in no file.
  const letters = Array.from(text)
  const cut = tuple(nat(letters.length), nat(12)).map(([at, length]) =>
    letters.slice(at, at + length).join(''),
  )
  const all = text.split(/\r?\n/)
  const whole = tuple(nat(all.length), integer({ min: 1, max: 3 })).map(([at, n]) =>
    all.slice(at, at + n).join('\n'),
  )
  return oneof(
    { weight: 4, arbitrary: whole },
    { weight: 3, arbitrary: cut },
    { weight: 1, arbitrary: lines(0, 2).map((each) => each.join('\n')) },
  )
}

const replacement: Arbitrary<readonly string[]> = oneof(
  { weight: 6, arbitrary: lines(0, 3) },
  {
    weight: 1,
    arbitrary: tuple(lines(0, 1), constantFrom(...MARKERS), lines(0, 1)).map((each) => each.flat()),
  },
)

const marks = constantFrom(
  ...Array.from({ length: 8 }, () => ['------- SEARCH', '=======', '+++++++ REPLACE'] as const),
  ['<<<<<<< SEARCH', '=======', '>>>>>>> REPLACE'],
  ['------- SEARCH ', '======= ', '+++++++ REPLACE\t'],
  ['------- SEARCH', '=======', '+++++++'],
  ['-------- SEARCH', '=======', '+++++++ REPLACE'],
  ['------- SEARCH', '======', '+++++++ REPLACE'],
)

function blockFor(text: string): Arbitrary<string> {
  return tuple(searchIn(text), replacement, marks).map(([search, replace, [first, second, third]]) =>
    [first, search, second, ...replace, third].join('\n'),
  )
}

const between = constantFrom('\n', '\n', '\n', '\n\n', '\n  \n', '\nand\n')

export const edits: Arbitrary<{ readonly file: string; readonly diff: string }> = file.chain((text) =>
  tuple(
    array(tuple(blockFor(text), between), { minLength: 1, maxLength: 3 }),
    integer({ min: 0, max: 5 }),
  ).map(([blocks, crlf]) => {
    const diff = blocks.flat().slice(0, -1).join('')
    return { file: text, diff: crlf === 0 ? diff.replaceAll(/\r?\n/g, '\r\n') : diff }
  }),
)
