import { describe, expect, test } from 'vitest'
import { PROMPT_NODES, Prompts } from '../../src/flow/plan-verify/prompts.ts'

const VALUES = {
  task: 'T',
  plan: 'P',
  answer: 'A',
  trace_section: 'S',
  previous_plan: 'O',
  verification_feedback: 'F',
  tool_instructions: 'I',
}

describe('prompts of the nodes', () => {
  test('a plain text stands between its values and the instructions of tools', () => {
    const prompts = new Prompts()
    prompts.set('replan', '  Be brief. ')
    expect(prompts.render('replan', VALUES)).toBe(
      '# Task\nT\n\n# Previous plan\nO\n\n# Feedback of the verification\nF\n\nBe brief.\n\nI',
    )
  })

  test('a template is filled once: a value with braces stays as it is', () => {
    const prompts = new Prompts()
    prompts.set('planner', 'Plan {task} {tool_instructions}')
    expect(prompts.render('planner', { task: '{tool_instructions} $& {x}', tool_instructions: 'I' })).toBe(
      'Plan {tool_instructions} $& {x} I',
    )
  })

  test('other braces are literal: a text with JSON is a plain text', () => {
    const prompts = new Prompts()
    prompts.set('agent', 'Reply as {"a": {b}}.')
    expect(prompts.render('agent', VALUES)).toBe('# Task\nT\n\n# Plan\nP\n\nReply as {"a": {b}}.\n\nI')
  })

  test.each([
    ['planner', '{task}', '{tool_instructions}'],
    ['agent', '{task}', '{plan}, {tool_instructions}'],
    ['verifier', '{task} {tool_instructions}', '{answer}, {trace_section}'],
    ['replan', '{previous_plan}', '{task}, {verification_feedback}, {tool_instructions}'],
  ] as const)('a template of %s without a value is refused when it is set', (node, text, missing) => {
    const prompts = new Prompts()
    const before = prompts.template(node)
    expect(() => prompts.set(node, text)).toThrow(`The prompt of ${node} lacks ${missing}.`)
    expect(prompts.template(node)).toBe(before)
  })

  test('a value of another node is refused', () => {
    expect(() => new Prompts().set('planner', '{task} {plan} {tool_instructions}')).toThrow(
      'The prompt of planner has {plan}, and planner has no such value. It has {task}, {tool_instructions}.',
    )
  })

  test('an empty text is refused; reset gives the default back', () => {
    const prompts = new Prompts()
    expect(() => prompts.set('agent', ' ')).toThrow('The prompt of agent is empty.')
    const before = prompts.template('agent')
    prompts.set('agent', 'Mine')
    expect(prompts.template('agent')).toBe('Mine')
    prompts.reset()
    expect(prompts.template('agent')).toBe(before)
  })

  test.each(PROMPT_NODES)('the default of %s has every value', (node) => {
    const prompts = new Prompts()
    prompts.set(node, prompts.template(node))
    expect(prompts.render(node, VALUES)).not.toMatch(/\{[a-z_]+\}/)
  })
})
