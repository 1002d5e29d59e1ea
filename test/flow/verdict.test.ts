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
  ])('%j', (text, ...expected) => {
    const [verified, unmet, evidence] = expected
    expect(verdictIn(text)).toEqual({ verified, unmet, evidence })
  })

  test.each([
    [''],
    ['All good!'],
    ['It was VERIFIED: by nobody'],
    ['{"verified": "yes"}'],
    ['{"verified": true} {"verified": false}'],
    ['VERIFIED: yes\nNOT_VERIFIED: no'],
    ['UNVERIFIED: no'],
  ])('%j has none', (text) => {
    expect(verdictIn(text)).toBeUndefined()
  })

  test('is one text for the next plan', () => {
    expect(feedbackOf({ verified: false, unmet: ['tests'], evidence: ['step 2'] })).toBe(
      'NOT_VERIFIED\n- not met: tests\n- evidence: step 2',
    )
  })
})
