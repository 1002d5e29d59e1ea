import { describe, expect, test } from 'vitest'
import { feedbackOf, verdictIn } from '../../src/flow/plan-verify/verdict.ts'

describe('the verdict in a reply', () => {
  test.each([
    ['{"verified": true, "unmet": [], "evidence": ["step 3"]}', true, [], ['step 3']],
    [
      'Here it is:\n```json\n{"verified": false, "unmet": ["tests"], "evidence": []}\n```',
      false,
      ['tests'],
      [],
    ],
    ['{"verified": true, "unmet": ["a test fails"]}', false, ['a test fails'], []],
    ['{"verified": false, "unmet_criteria": "no file"}', false, ['no file'], []],
    ['VERIFIED: all is there', true, [], ['all is there']],
    ['NOT_VERIFIED: no tests\nand no file', false, ['no tests\nand no file'], []],
    ['**VERIFIED:** yes', true, [], ['yes']],
    ['**NOT_VERIFIED**: no', false, ['no'], []],
    ['> Not verified: no', false, ['no'], []],
    ['I looked at it.\n\nVERIFIED: fine', true, [], ['fine']],
    ['VERIFIED:', true, [], []],
    ['{"verified": true, "evidence": ["was NOT_VERIFIED before"]}', true, [], ['was NOT_VERIFIED before']],
    ['VERIFIED: all is there\nNo problems.', true, [], ['all is there\nNo problems.']],
    ['Verified: false\nTests fail.', false, ['Tests fail.'], []],
    ['**Verified:** False', false, [], []],
    ['{\nverified: false,\n}', false, [',\n}'], []],
    ['{"verified": true, "unmet": [{"test": "fails"}]}', false, ['{"test":"fails"}'], []],
    ['{"verified": true, "unmet": {"test": "fails"}}', false, ['{"test":"fails"}'], []],
    ['{"verified": true, "unmet": [], "unmet_criteria": ["x"]}', false, ['x'], []],
    ['{"verified": true, "unmet": [null, "", {}, []], "evidence": [7]}', true, [], ['7']],
  ])('%j', (text, ...expected) => {
    const [verified, unmet, evidence] = expected
    expect(verdictIn(text)).toEqual({ verified, unmet, evidence })
  })

  test.each(['\n', '\r\n', '\r', '\u2028'])(
    'is found beside a loop of empty lines ended by %j in a time that grows with their number alone',
    (end) => {
      const lines = end.repeat(500_000)
      expect(verdictIn(`${lines}VERIFIED: fine`)).toEqual({ verified: true, unmet: [], evidence: ['fine'] })
      expect(verdictIn(`VERIFIED: fine${lines}The end.`)?.verified).toBe(true)
      expect(verdictIn(`VERIFIED: fine${lines}NOT_VERIFIED: no`)).toBeUndefined()
    },
  )

  test.each([
    [''],
    ['All good!'],
    ['It was VERIFIED: by nobody'],
    ['{"verified": "yes"}'],
    ['{"verified": true} {"verified": false}'],
    ['VERIFIED: yes\nNOT_VERIFIED: no'],
    ['UNVERIFIED: no'],
    ['VERIFIED: No, the tests fail'],
    ['## Verified: ❌'],
    ['verified: true\nunmet:\n  - tests'],
    ['{\n  "verified": false,\n  "unmet": ["cut o'],
    ['{\n  "verified": true,\n  "unmet": ["a" "b"]\n}'],
    ['{\n  "verified": "no"\n}'],
    ['VERIFIED: NOT_VERIFIED: maybe'],
    ['VERIFIED: the tests are NOT VERIFIED'],
    ['{"verified": true} NOT_VERIFIED: it failed'],
    ['Not {"verified": true}'],
  ])('%j has none', (text) => {
    expect(verdictIn(text)).toBeUndefined()
  })

  test('is one text for the next plan', () => {
    expect(feedbackOf({ verified: false, unmet: ['tests'], evidence: ['step 2'] })).toBe(
      'NOT_VERIFIED\n- not met: tests\n- evidence: step 2',
    )
  })
})
