/** `holdfast chat` at a real pseudo-terminal: what is seen, and what keys do. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { siteInProcess } from './in-process.ts'
import { Folders, site, withoutTimes } from './kit.ts'
import { noTmux, type TerminalOptions, TestTerminal } from './tmux.ts'

const folders = new Folders()
afterAll(() => folders.remove())

function openGate(cwd: string): void {
  writeFileSync(join(cwd, 'data/open'), '')
}

const PROMPT = /\n›$/
const APPROVAL =
  '? Approval\n  tool       order\n  arguments  {"bags":20}\n  its text │ Order 20 bags?\n  [y/n] ›'

/** Opens a chat, and closes the terminal however the test ends. */
async function chat(
  options: Partial<TerminalOptions>,
  work: (terminal: TestTerminal, cwd: string) => Promise<void>,
) {
  const cwd = options.cwd ?? folders.make()
  const terminal = new TestTerminal({ ...options, cwd })
  try {
    await terminal.until(/›/)
    await work(terminal, cwd)
  } finally {
    terminal.close()
  }
}

describe.skipIf(noTmux !== '').concurrent(`a chat${noTmux}`, () => {
  it('streams replies, shows calls, and leaves with Ctrl-D', async () => {
    await chat({}, async (terminal) => {
      expect(terminal.screen()).toBe('site · scripted/model · main\n\n›')
      await terminal.ask('hello', 'This is message 1.', PROMPT)
      await terminal.ask('quick', 'Done.')
      expect(withoutTimes(await terminal.until(PROMPT))).toBe(`site · scripted/model · main

› hello
This is message 1.

› quick
✓ slow seconds=0.3 → 0.3 seconds are over
Done.

›`)
      await terminal.leave()
    })
  })

  it('shows progress while a tool runs; Ctrl-C cancels the turn, and one more leaves', async () => {
    await chat({}, async (terminal) => {
      await terminal.ask('slow', /. slow {2}[\d.]+s {2}step \d+ of 300/)
      terminal.press('C-c')
      await terminal.until('— cancelled')
      expect(await terminal.until(PROMPT)).not.toContain('step')
      terminal.press('C-c')
      await terminal.until('left with 0')
    })
  })

  it('leaves an empty line at the second Ctrl-C, and says so at the first', async () => {
    await chat({}, async (terminal) => {
      await terminal.until(PROMPT)
      terminal.type('not sent')
      terminal.press('C-c')
      terminal.press('C-c')
      await terminal.until(/Press Ctrl-C again, or Ctrl-D, to leave\.\n›$/)
      await terminal.ask('hello', 'This is message 1.', PROMPT)
      terminal.press('C-c')
      await terminal.until(/leave\.\n›$/)
      terminal.press('C-c')
      expect(await terminal.until('left with 0')).toMatch(/leave\.\n›\s+left with 0$/)
    })
  })

  it('goes on after Ctrl-Z where no shell can stop it', async () => {
    await chat({}, async (terminal) => {
      await terminal.until(PROMPT)
      terminal.press('C-z')
      // Keys that are typed before the chat reads them again are shown by the terminal itself, on a line of their own.
      const screen = await terminal.ask('hello', 'This is message 1.', PROMPT)
      expect(screen.replaceAll('\n', '')).toContain('› hello')
      terminal.press('C-c')
      await terminal.until(/leave\.\n›$/)
      await terminal.leave()
    })
  })

  it('leaves at the second Ctrl-C while a turn still comes to its end', async () => {
    await chat({}, async (terminal) => {
      await terminal.ask('stall', 'I am thinking of')
      terminal.press('C-c')
      terminal.press('C-c')
      expect(await terminal.until('left with')).toMatch(/left with (130|0)$/)
    })
  })

  it('remembers the conversation and what was typed across starts', async () => {
    const cwd = folders.make()
    await chat({ cwd }, async (terminal) => {
      await terminal.ask('hello', 'This is message 1.', PROMPT)
      await terminal.ask('/new trip', '· trip')
      await terminal.ask('to the sea', 'This is message 1.\n\n›')
      await terminal.leave()
    })
    await chat({ cwd }, async (terminal) => {
      expect(await terminal.until(PROMPT)).toBe(
        'site · scripted/model · trip\n\n› to the sea\nThis is message 1.\n\n›',
      )
      terminal.press('Up')
      await terminal.until('› to the sea\nThis is message 1.\n\n› to the sea')
      terminal.press('Up')
      await terminal.until('› /new trip')
      terminal.press('C-c')
      await terminal.until(PROMPT)
      await terminal.ask('again', 'This is message 2.')
    })
    expect(readFileSync(join(cwd, 'data/history'), 'utf8')).toBe('hello\n/new trip\nto the sea\nagain\n')
  })

  it('asks for approval in its place, again if the answer is none, and goes on with it', async () => {
    await chat({}, async (terminal) => {
      await terminal.ask('order', APPROVAL)
      await terminal.ask('perhaps', 'Type yes or no')
      expect(withoutTimes(await terminal.ask('y', /Done\.\n\n›$/))).toContain(
        '✓ order bags=20 → 20 bags are on their way\nDone.',
      )
    })
  })

  it('asks for a choice by number and for data field by field', async () => {
    await chat({}, async (terminal, cwd) => {
      await terminal.ask('colour', '? ask_user │ Which colour?\n  1 red\n  2 blue\n  [number or word] ›')
      await terminal.ask('2', '{"answer":"blue"}\nDone.', PROMPT)
      await terminal.ask('form', 'street [text] ›')
      await terminal.ask('Main Street', 'number [whole number] ›')
      await terminal.ask('twelve', 'number is a whole number.')
      await terminal.ask('12', 'floor [whole number; Enter to leave out] ›')
      terminal.press('Enter')
      await terminal.until('"number":12}}\nDone.')
      const { stdout } = await siteInProcess(['show', 'main', '--json'], { cwd })
      expect(stdout).toContain(
        '"value": {\n            "street": "Main Street",\n            "number": 12\n          }',
      )
    })
  })

  it('leaves a question open that is not answered, and asks it again at the next start', async () => {
    const cwd = folders.make()
    await chat({ cwd }, async (terminal) => {
      await terminal.ask('order', '[y/n] ›')
      terminal.press('Enter')
      await terminal.until('— not answered; type /answer to be asked')
      await terminal.leave()
    })
    await chat({ cwd }, async (terminal) => {
      await terminal.until('[y/n] ›')
      expect(await terminal.ask('no, too many', /Done\.\n\n›$/)).toContain('Not approved (too many)')
    })
  })

  it('posts the answers that are given while another question is left open', async () => {
    await chat({}, async (terminal) => {
      await terminal.ask('pair', '{"bags":20}\n  its text │ Order 20 bags?\n  [y/n] ›')
      terminal.press('Enter')
      await terminal.until('{"bags":5}\n  its text │ Order 5 bags?\n  [y/n] ›')
      const left = await terminal.ask('n, because late', '— not answered; type /answer')
      expect(left).toContain('Not approved (because late)')
      await terminal.ask('/answer', /Order 20 bags\?\n {2}\[y\/n\] ›$/)
      expect(await terminal.ask('y', /Done\.\n\n›$/)).toContain('20 bags are on their way')
    })
  })

  it('takes a paste of several lines for one message', async () => {
    await chat({}, async (terminal, cwd) => {
      terminal.type('Look: ')
      terminal.paste('one\ntwo\nthree\n')
      await terminal.until('› Look: [paste 1: 3 lines]')
      terminal.press('Enter')
      await terminal.until('This is message 1.')
      await terminal.until(PROMPT)
      const { stdout } = await siteInProcess(['show', 'main', '--json'], { cwd })
      expect(JSON.parse(stdout)).toMatchObject({ turns: [{ said: ['Look: one\ntwo\nthree'] }] })
    })
  })

  it('sends what is typed while a turn runs when the turn has ended', async () => {
    await chat({}, async (terminal, cwd) => {
      await terminal.ask('gate', /gate {2}\d/)
      terminal.type('and then')
      await terminal.until(/gate.*\n› and then$/)
      terminal.press('Enter')
      await terminal.until('» and then')
      openGate(cwd)
      const screen = await terminal.until(/message 2\.\n\n›$/)
      expect(screen).toContain('Done.\n\n› and then\nThis is message 2.')
    })
  })

  it('continues a message below a line that ends in a backslash, also while a turn runs', async () => {
    await chat({}, async (terminal, cwd) => {
      await terminal.ask('gate', /gate {2}\d/)
      terminal.say('one\\')
      terminal.say('two')
      await terminal.until('» one two')
      openGate(cwd)
      await terminal.until(/message 2\.\n\n›$/)
      terminal.say('three\\')
      await terminal.until(/…$/)
      await terminal.ask('four', /message 3\.\n\n›$/)
      const { stdout } = await siteInProcess(['show', 'main', '--json'], { cwd })
      expect(JSON.parse(stdout)).toMatchObject({
        turns: [{}, { said: ['one\ntwo'] }, { said: ['three\nfour'] }],
      })
    })
  })

  it('takes no answer from what was begun before the question', async () => {
    await chat({}, async (terminal, cwd) => {
      await terminal.ask('gate and order', /gate {2}\d/)
      terminal.type('half a thought')
      await terminal.until(/gate.*\n› half a thought$/)
      openGate(cwd)
      await terminal.until(APPROVAL)
      await terminal.ask('y', '20 bags are on their way')
      expect(await terminal.until(/› half a thought$/)).toContain('  [y/n] › y\n')
    })
  })

  it('tells the turn of a message that interrupts another', async () => {
    await chat({ args: ['--agent', 'hasty'] }, async (terminal) => {
      await terminal.ask('slow', /slow {2}\d/)
      await terminal.ask('rather this', 'This is message 2.')
      const screen = await terminal.until(PROMPT)
      expect(screen).toContain('› rather this\n✗ slow seconds=30')
      expect(screen).toMatch(/— cancelled\nThis is message 2\.\n\n›$/)
    })
  })

  it('does not show a secret while it is typed, and does not remember it', async () => {
    await chat({}, async (terminal, cwd) => {
      await terminal.ask('login', '? login │ Token?')
      await terminal.until(/› *$/)
      expect(await terminal.ask('open-sesame', '{"welcome":true}')).not.toContain('sesame')
      await terminal.until(PROMPT)
      terminal.press('Up')
      await terminal.until(/› login$/)
      expect(readFileSync(join(cwd, 'data/history'), 'utf8')).toBe('login\n')
    })
  })

  it('leaves a turn open at Ctrl-D, and goes on with it at the next start', async () => {
    const cwd = folders.make()
    await chat({ cwd }, async (terminal) => {
      await terminal.ask('gate', /gate {2}\d/)
      terminal.press('C-d')
      await terminal.until('— left open; run holdfast chat to resume it')
      await terminal.until('left with 0')
    })
    await chat({ cwd }, async (terminal) => {
      await terminal.until('— resuming the open turn')
      openGate(cwd)
      expect(await terminal.until('Done.')).toContain('✓ gate')
    })
  })

  it('has no colours where none are wanted', async () => {
    await chat({ env: { NO_COLOR: '1' } }, async (terminal) => {
      await terminal.ask('quick', 'Done.')
      expect(terminal.screen('-e')).not.toContain('\x1b[')
    })
    await chat({}, async (terminal) => {
      expect(terminal.screen('-e')).toContain('\x1b[36m')
    })
  })

  it('completes commands and lists them', async () => {
    await chat({}, async (terminal) => {
      terminal.type('/he')
      await terminal.until('› /he')
      terminal.press('Tab')
      await terminal.until('› /help')
      terminal.press('Enter')
      await terminal.until('/fork [ID]')
      await terminal.ask('/nwe', '✗ /nwe is no command. Did you mean /new? Type /help to list them.')
      await terminal.ask('/tools', 'Orders bags of cement. (asks first)')
      expect(await terminal.ask('/sessions', 'None yet.')).not.toContain('TURNS')
      await terminal.ask('//sessions', '› //sessions\nThis is message 1.')
      await terminal.ask('/show', '› /sessions\nThis is message 1.')
    })
  })

  it('fits forty columns, and shows nothing that a terminal would obey', async () => {
    await chat({ columns: 40 }, async (terminal) => {
      await terminal.ask('essay', 'other side.\n\n›')
      const screen = await terminal.ask('escape', 'Red\n<U+001B>[31malert<U+001B>]0;title')
      expect(screen).toContain(
        '› essay\nEvery good bridge begins with somebody\nwho wants to be on the other side. Every\ngood bridge',
      )
      expect(screen.split('\n').every((line) => line.length <= 40)).toBe(true)
    })
  })

  it('goes on with a turn that another process left open', async () => {
    const cwd = folders.make()
    const killed = await site(['run', '--context', 'main', 'gate'], {
      cwd,
      meanwhile: (child) =>
        child.stderr?.on('data', (text: string) => text.includes('→') && child.kill('SIGKILL')),
    })
    expect(killed.code).toBeNull()
    await chat({ cwd }, async (terminal) => {
      await terminal.until('— resuming the open turn')
      openGate(cwd)
      expect(await terminal.until('Done.')).toContain('✓ gate')
    })
  })
})
