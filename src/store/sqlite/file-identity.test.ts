/** Files that lose their names are noticed, with the names that Linux has for descriptors, and without. */
import fs, { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FileIdentity } from './file-identity.ts'

let folder = ''
let path = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-identity-'))
  path = join(folder, 'store.db')
  writeFileSync(path, 'a database')
  writeFileSync(`${path}-wal`, 'its log')
  writeFileSync(`${path}-shm`, 'its shared memory')
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
  rmSync(folder, { recursive: true, force: true })
})

const LOSSES: Readonly<Record<string, (file: string) => void>> = {
  removed: (file) => rmSync(file),
  'moved away': (file) => renameSync(file, `${file}.old`),
  'replaced by a copy': (file) => {
    copyFileSync(file, `${file}.new`)
    renameSync(`${file}.new`, file)
  },
  'written anew': (file) => {
    rmSync(file)
    writeFileSync(file, 'another')
  },
  'moved with its folder': () => {
    renameSync(folder, `${folder}-moved`)
    folder = `${folder}-moved`
  },
}

const FILES: Readonly<Record<string, string>> = {
  '': 'a database',
  '-wal': 'a log',
  '-shm': 'the shared memory',
}

describe.each([process.platform, 'darwin'])('on %s', (platform) => {
  beforeEach(() => vi.stubGlobal('process', Object.create(process, { platform: { value: platform } })))

  it('files that keep their names are in place, whatever is written to them', () => {
    const identity = new FileIdentity(path)
    writeFileSync(`${path}-wal`, 'more')
    expect(identity.isInPlace()).toBe(true)
    identity.close()
  })

  for (const [side, name] of Object.entries(FILES))
    for (const [what, lose] of Object.entries(LOSSES))
      it(`${name} is not if it was ${what}`, () => {
        const identity = new FileIdentity(path)
        lose(path + side)
        expect(identity.isInPlace()).toBe(false)
        identity.close()
      })

  for (const [side, name] of Object.entries(FILES))
    for (const [what, lose] of Object.entries(LOSSES))
      it(`${name} is not if it was ${what} after a look at a folder that nobody had changed for long`, () => {
        const identity = new FileIdentity(path)
        leaveFolderAlone()
        expect(identity.isInPlace()).toBe(true)
        lose(path + side)
        expect([identity.isInPlace(), identity.isInPlace()]).toEqual([false, false])
        identity.close()
      })

  it('a look at an unchanged folder reads nothing else', () => {
    const identity = new FileIdentity(path)
    leaveFolderAlone()
    identity.isInPlace()
    writeFileSync(`${path}-wal`, 'more')
    expect(readDuring(() => expect(identity.isInPlace()).toBe(true))).toEqual([folder])
    writeFileSync(join(folder, 'another'), '')
    expect(readDuring(() => expect(identity.isInPlace()).toBe(true))).toContain(path)
    identity.close()
  })

  it('in a folder without times, as the root of a FAT volume, every look reads each file', () => {
    const identity = new FileIdentity(path)
    const stat = fs.statSync
    vi.spyOn(fs, 'statSync').mockImplementation(((file: string, options: object) =>
      file === folder ? Object.assign(stat(file), { ctimeMs: 0 }) : stat(file, options)) as typeof stat)
    syncBuiltinESMExports()
    expect(identity.isInPlace()).toBe(true)
    rmSync(path)
    expect(identity.isInPlace()).toBe(false)
    identity.close()
  })

  it('a change right after another, which may leave the folder’s times as they are, is noticed', () => {
    const identity = new FileIdentity(path)
    expect(identity.isInPlace()).toBe(true)
    const before = fs.statSync(folder)
    rmSync(path)
    const stat = fs.statSync
    vi.spyOn(fs, 'statSync').mockImplementation(((file: string, options: object) =>
      file === folder ? before : stat(file, options)) as typeof stat)
    syncBuiltinESMExports()
    expect(identity.isInPlace()).toBe(false)
    identity.close()
  })
})

function leaveFolderAlone(): void {
  const now = Date.now() + 3_600_000
  vi.spyOn(Date, 'now').mockReturnValue(now)
}

/** The paths whose status is read. */
function readDuring(run: () => void): string[] {
  const stat = vi.spyOn(fs, 'statSync')
  syncBuiltinESMExports()
  run()
  const read = stat.mock.calls.map(([file]) => String(file))
  stat.mockRestore()
  syncBuiltinESMExports()
  return read
}

describe.runIf(process.platform === 'linux')('on Linux', () => {
  it('the times of the log are not read: the next sync would have to store them', () => {
    const identity = new FileIdentity(path)
    const read = readDuring(() => expect(identity.isInPlace()).toBe(true))
    expect(read).toEqual([folder, path, `${path}-shm`])
    identity.close()
  })

  it('no descriptor stays open', () => {
    const before = readdirSync('/proc/self/fd').length
    for (let n = 0; n < 20; n++) new FileIdentity(path).close()
    expect(readdirSync('/proc/self/fd')).toHaveLength(before)
  })
})
