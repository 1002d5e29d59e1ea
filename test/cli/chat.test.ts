/** `holdfast chat` at a real pseudo-terminal: what is seen, and what keys do. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Folders, site } from './kit.ts'
import { noTmux, type TerminalOptions, TestTerminal } from './tmux.ts'

const folders = new Folders()
afterAll(() => folders.remove())

function openGate(cwd: string): void {
  writeFileSync(join(cwd, 'data/open'), '')
}

const PROMPT = /\n›$/

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
      terminal.say('hello')
      await terminal.until('This is message 1.')
      await terminal.until(PROMPT)
      terminal.say('quick')
      await terminal.until('Done.')
      expect(await terminal.until(PROMPT)).toBe(`site · scripted/model · main

› hello
This is message 1.

› quick
✓ slow seconds=0.3 → 0.3 seconds are over
Done.

›`)
      terminal.press('C-d')
      await terminal.until('left with 0')
    })
  })

  it('shows progress while a tool runs; Ctrl-C cancels the turn, and one more leaves', async () => {
    await chat({}, async (terminal) => {
      terminal.say('slow')
      await terminal.until(/. slow {2}[\d.]+s {2}step \d+ of 300/)
      terminal.press('C-c')
      await terminal.until('— cancelled')
      expect(await terminal.until(PROMPT)).not.toContain('step')
      terminal.press('C-c')
      await terminal.until('left with 0')
    })
  })

  it('leaves at the second Ctrl-C while a turn still comes to its end', async () => {
    await chat({}, async (terminal) => {
      terminal.say('stall')
      await terminal.until('I am thinking of')
      terminal.press('C-c')
      terminal.press('C-c')
      expect(await terminal.until('left with')).toMatch(/left with (130|0)$/)
    })
  })

  it('remembers the conversation and what was typed across starts', async () => {
    const cwd = folders.make()
    await chat({ cwd }, async (terminal) => {
      terminal.say('hello')
      await terminal.until('This is message 1.')
      await terminal.until(PROMPT)
      terminal.say('/new trip')
      await terminal.until('· trip')
      terminal.say('to the sea')
      await terminal.until('This is message 1.\n\n›')
      terminal.press('C-d')
      await terminal.until('left with 0')
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
      terminal.say('again')
      await terminal.until('This is message 2.')
    })
    expect(readFileSync(join(cwd, 'data/history'), 'utf8')).toBe('hello\n/new trip\nto the sea\nagain\n')
  })

  it('asks for approval in its place, again if the answer is none, and goes on with it', async () => {
    await chat({}, async (terminal) => {
      terminal.say('order')
      await terminal.until('? Order 20 bags?\n  [y/n] ›')
      terminal.say('perhaps')
      await terminal.until('Yes or no?')
      terminal.say('y')
      expect(await terminal.until(/Done\.\n\n›$/)).toContain(
        '✓ order bags=20 → 20 bags are on their way\nDone.',
      )
    })
  })

  it('asks for a choice by number and for data field by field', async () => {
    await chat({}, async (terminal, cwd) => {
      terminal.say('colour')
      await terminal.until('? Which colour?\n  1 red\n  2 blue\n  [number] ›')
      terminal.say('2')
      await terminal.until('{"answer":"blue"}\nDone.')
      await terminal.until(PROMPT)
      terminal.say('form')
      await terminal.until('street [text] ›')
      terminal.say('Main Street')
      await terminal.until('number [whole number] ›')
      terminal.say('twelve')
      await terminal.until('number is a whole number.')
      terminal.say('12')
      await terminal.until('floor [whole number; Enter to leave out] ›')
      terminal.press('Enter')
      await terminal.until('"number":12}}\nDone.')
      const { stdout } = await site(['show', 'main', '--json'], { cwd })
      expect(stdout).toContain(
        '"value": {\n            "street": "Main Street",\n            "number": 12\n          }',
      )
    })
  })

  it('leaves a question open that is not answered, and asks it again at the next start', async () => {
    const cwd = folders.make()
    await chat({ cwd }, async (terminal) => {
      terminal.say('order')
      await terminal.until('[y/n] ›')
      terminal.press('Enter')
      await terminal.until('— not answered; /answer asks again')
      terminal.press('C-d')
      await terminal.until('left with 0')
    })
    await chat({ cwd }, async (terminal) => {
      await terminal.until('[y/n] ›')
      terminal.say('no, too many')
      expect(await terminal.until(/Done\.\n\n›$/)).toContain('Not approved (too many)')
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
      const { stdout } = await site(['show', 'main', '--json'], { cwd })
      expect(JSON.parse(stdout)).toMatchObject({ turns: [{ said: ['Look: one\ntwo\nthree'] }] })
    })
  })

  it('sends what is typed while a turn runs when the turn has ended', async () => {
    await chat({}, async (terminal, cwd) => {
      terminal.say('gate')
      await terminal.until(/gate {2}\d/)
      terminal.type('and then')
      await terminal.until(/gate.*\n› and then$/)
      terminal.press('Enter')
      await terminal.until('» and then')
      openGate(cwd)
      const screen = await terminal.until(/message 2\.\n\n›$/)
      expect(screen).toContain('Done.\n\n› and then\nThis is message 2.')
    })
  })

  it('takes no answer from what was begun before the question', async () => {
    await chat({}, async (terminal, cwd) => {
      terminal.say('gate and order')
      await terminal.until(/gate {2}\d/)
      terminal.type('half a thought')
      await terminal.until(/gate.*\n› half a thought$/)
      openGate(cwd)
      await terminal.until('? Order 20 bags?\n  [y/n] ›')
      terminal.say('y')
      await terminal.until('20 bags are on their way')
      expect(await terminal.until(/› half a thought$/)).toContain('  [y/n] › y\n')
    })
  })

  it('tells the turn of a message that interrupts another', async () => {
    await chat({ args: ['--agent', 'hasty'] }, async (terminal) => {
      terminal.say('slow')
      await terminal.until(/slow {2}0/)
      terminal.say('rather this')
      await terminal.until('This is message 2.')
      const screen = await terminal.until(PROMPT)
      expect(screen).toContain('› rather this\n✗ slow seconds=30')
      expect(screen).toMatch(/— cancelled\nThis is message 2\.\n\n›$/)
    })
  })

  it('does not show a secret while it is typed, and does not remember it', async () => {
    await chat({}, async (terminal, cwd) => {
      terminal.say('login')
      await terminal.until('? Token?')
      await terminal.until(/› *$/)
      terminal.say('open-sesame')
      expect(await terminal.until('{"welcome":true}')).not.toContain('sesame')
      await terminal.until(PROMPT)
      terminal.press('Up')
      await terminal.until(/› login$/)
      expect(readFileSync(join(cwd, 'data/history'), 'utf8')).toBe('login\n')
    })
  })

  it('leaves a turn open at Ctrl-D, and goes on with it at the next start', async () => {
    const cwd = folders.make()
    await chat({ cwd }, async (terminal) => {
      terminal.say('gate')
      await terminal.until(/gate {2}\d/)
      terminal.press('C-d')
      await terminal.until('— left open; holdfast chat goes on with it')
      await terminal.until('left with 0')
    })
    await chat({ cwd }, async (terminal) => {
      await terminal.until('— going on with what was left open')
      openGate(cwd)
      expect(await terminal.until('Done.')).toContain('✓ gate')
    })
  })

  it('has no colours where none are wanted', async () => {
    await chat({ env: { NO_COLOR: '1' } }, async (terminal) => {
      terminal.say('quick')
      await terminal.until('Done.')
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
      terminal.say('/nwe')
      await terminal.until('✗ /nwe is no command. Did you mean /new? /help lists them.')
      terminal.say('/tools')
      await terminal.until('Orders bags of cement. (asks first)')
      terminal.say('/sessions')
      expect(await terminal.until('None yet.')).not.toContain('TURNS')
    })
  })

  it('fits forty columns, and shows nothing that a terminal would obey', async () => {
    await chat({ columns: 40 }, async (terminal) => {
      terminal.say('essay')
      await terminal.until('other side.\n\n›')
      terminal.say('escape')
      const screen = await terminal.until('Red [31malert]0;title over.')
      expect(screen).toContain(
        '› essay\nEvery good bridge begins with somebody\nwho wants to be on the other side. Every\ngood bridge',
      )
      expect(screen.split('\n').every((line) => line.length <= 40)).toBe(true)
    })
  })

  it('goes on with a turn that another process left open', async () => {
    const cwd = folders.make()
    const killed = await site(['run', '--context', 'main', 'medium'], {
      cwd,
      meanwhile: (child) =>
        child.stderr?.on('data', (text: string) => text.includes('→') && child.kill('SIGKILL')),
    })
    expect(killed.code).toBeNull()
    await chat({ cwd }, async (terminal) => {
      await terminal.until('— going on with what was left open')
      await terminal.until('✓ slow seconds=1.5')
      await terminal.until('Done.')
    })
  })
})
