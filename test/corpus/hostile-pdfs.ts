/** PDFs that are broken, locked, empty, or made to harm their reader. */
import { deflateSync } from 'node:zlib'
import type { HostileDocument, HostileWorld } from './hostile-types.ts'
import { deflateBomb, FONT, HELLO, type PdfObject, pagePdf, rawPdf } from './raw-files.ts'

const ENCRYPT = `/Encrypt 6 0 R/ID[<${'00'.repeat(16)}><${'00'.repeat(16)}>]`
const LOCK = `<</Filter/Standard/V 1/R 2/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>>`

export function hostilePdfs({ url, secretFile }: HostileWorld): readonly HostileDocument[] {
  const fetches = `<</S/URI/URI(${url}/pdf)>>`
  const file = `<</Type/Filespec/F(${secretFile})/UF(${secretFile})>>`
  const cases: Readonly<Record<string, Omit<HostileDocument, 'source'>>> = {
    empty: { bytes: () => '', codes: ['no-text'] },
    'no header': { bytes: () => 'Hello', codes: ['malformed'] },
    'header alone': { bytes: () => '%PDF-1.7\n', codes: ['malformed'] },
    garbage: { bytes: () => `%PDF-1.7\n${'\u0001\u00FF\u0000'.repeat(5000)}`, codes: ['malformed'] },
    'html with a wrong name': { bytes: () => '<html><p>Hello', codes: ['malformed'] },
    'password needed': { bytes: () => pagePdf({ more: [LOCK], trailer: ENCRYPT }), codes: ['encrypted'] },
    'unknown encryption': {
      bytes: () => pagePdf({ more: ['<</Filter/Strange/V 9>>'], trailer: ENCRYPT }),
      codes: ['malformed', 'encrypted'],
    },
    'blank page': { bytes: () => pagePdf({ content: '' }), codes: ['no-text'] },
    'an image and no text': {
      bytes: () => pagePdf({ content: 'q 9 0 0 9 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q' }),
      codes: ['no-text'],
    },
    'no pages': {
      bytes: () => rawPdf({ objects: ['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>'] }),
      codes: ['no-text', 'malformed'],
    },
    'no catalog': { bytes: () => rawPdf({ objects: ['<<>>'] }), codes: ['malformed'] },
    'a billion pages claimed': {
      bytes: () =>
        rawPdf({
          objects: ['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[3 0 R]/Count 1000000000>>', '<<>>'],
        }),
      codes: ['too-large', 'malformed', 'no-text'],
    },
    'pages that are their own parents': {
      bytes: () =>
        rawPdf({
          objects: ['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R]/Count 1/Parent 2 0 R>>'],
        }),
      codes: ['malformed', 'no-text', 'too-complex'],
    },
    'pages 3,000 levels deep': {
      bytes: () => {
        const levels = Array.from({ length: 3000 }, (_, at) => `<</Type/Pages/Kids[${at + 3} 0 R]/Count 1>>`)
        return rawPdf({
          objects: ['<</Type/Catalog/Pages 2 0 R>>', ...levels, `<</Type/Page/MediaBox[0 0 9 9]>>`],
        })
      },
      codes: ['malformed', 'no-text', 'too-complex'],
    },
    'a loop of cross references': {
      bytes: () => pagePdf({ trailer: '/Prev 9' }),
      codes: ['malformed', 'read'],
    },
    'a bomb of one filter': {
      bytes: () => pagePdf({ content: deflateBomb(1024), dict: '/Filter/FlateDecode' }),
      codes: ['too-complex', 'too-large'],
    },
    'a bomb of two filters': {
      isSlow: true,
      bytes: () =>
        pagePdf({ content: deflateSync(deflateBomb(1024)), dict: '/Filter[/FlateDecode/FlateDecode]' }),
      codes: ['too-complex', 'too-large'],
    },
    'a bomb of text': {
      isSlow: true,
      bytes: () =>
        pagePdf({
          content: deflateSync(`BT /F1 12 Tf ${'1 0 0 1 50 700 Tm (Hello) Tj '.repeat(4_000_000)}ET`),
          dict: '/Filter/FlateDecode',
        }),
      codes: ['too-complex', 'too-large'],
    },
    'a bomb of run lengths': {
      isSlow: true,
      bytes: () =>
        pagePdf({
          content: deflateSync(Buffer.alloc(8 * 1024 * 1024, Buffer.from([129, 32]))),
          dict: '/Filter[/FlateDecode/RunLengthDecode]',
        }),
      codes: ['too-complex', 'too-large'],
    },
    'a thousand filters': {
      bytes: () => pagePdf({ dict: `/Filter[${'/ASCIIHexDecode'.repeat(1000)}]` }),
      codes: ['read', 'no-text', 'malformed', 'too-complex'],
    },
    'a predictor of a billion columns': {
      bytes: () =>
        pagePdf({
          content: deflateSync(HELLO),
          dict: '/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 1000000000>>',
        }),
      codes: ['read', 'no-text', 'malformed', 'too-complex'],
    },
    'arrays 100,000 levels deep': {
      bytes: () => pagePdf({ content: `${'['.repeat(100_000)}${']'.repeat(100_000)} TJ` }),
      codes: ['read', 'no-text', 'malformed', 'too-complex'],
    },
    'a string with 100,000 brackets': {
      bytes: () => pagePdf({ content: `BT /F1 12 Tf ${'('.repeat(100_000)}x${')'.repeat(100_000)} Tj ET` }),
      codes: ['read', 'no-text', 'malformed', 'too-complex'],
    },
    'a form that draws itself': {
      bytes: () =>
        pagePdf({
          content: `${HELLO} /X1 Do`,
          resources: '/XObject<</X1 6 0 R>>',
          more: [
            {
              dict: '/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X1 6 0 R>>>>',
              stream: '/X1 Do',
            },
          ],
        }),
      codes: ['read', 'malformed', 'too-complex', 'no-text', 'too-slow'],
      isSlow: true,
    },
    'forms that draw each other ten times': {
      bytes: () => pagePdf({ content: '/X6 Do', resources: '/XObject<</X6 6 0 R>>', more: formsBelow(12) }),
      codes: ['too-slow', 'too-complex', 'too-large'],
      isSlow: true,
    },
    'a table of all characters': {
      bytes: () =>
        pagePdf({
          resources: '/Font<</F1 6 0 R>>',
          more: [
            '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>',
            {
              dict: '',
              stream: `begincmap 1 begincodespacerange <00> <ffffffff> endcodespacerange 1 beginbfrange <00000000> <ffffffff> <0041> endbfrange endcmap`,
            },
          ],
        }),
      codes: ['read', 'no-text', 'too-complex', 'too-slow', 'malformed'],
      isSlow: true,
    },
    'no number where one belongs': {
      bytes: () =>
        pagePdf({ page: '/Rotate(x)/UserUnit/None', content: 'BT /F1 /x Tf (a) [] Td (Hello) Tj ET' }),
      codes: ['read', 'malformed', 'no-text'],
    },
    'a length that lies': {
      bytes: () =>
        Buffer.from(
          pagePdf()
            .toString('latin1')
            .replace(/\/Length \d+/, '/Length 999999999'),
          'latin1',
        ),
      codes: ['read', 'malformed', 'no-text'],
    },
    'code that runs when it is opened': {
      bytes: () =>
        pagePdf({
          catalog: `/OpenAction<</S/JavaScript/JS(app.launchURL\\("${url}/js"\\);this.exportDataObject\\({}\\))>>/AA<</WC ${fetches}>>`,
          page: `/AA<</O ${fetches}>>/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A ${fetches}>>]`,
        }),
      codes: ['read'],
    },
    'a form in XFA': {
      bytes: () =>
        pagePdf({
          catalog: '/AcroForm<</XFA 6 0 R/Fields[]>>',
          more: [
            {
              dict: '',
              stream: `<xdp><template><subform><script>xfa.host.gotoURL("${url}/xfa")</script></subform></template></xdp>`,
            },
          ],
        }),
      codes: ['read'],
    },
    'a stream in another file': {
      bytes: () => pagePdf({ dict: `/F ${file}/FFilter/FlateDecode` }),
      codes: ['read', 'no-text', 'malformed'],
    },
    'a stream at an address': {
      bytes: () => pagePdf({ dict: `/F<</FS/URL/F(${url}/stream)>>` }),
      codes: ['read', 'no-text', 'malformed'],
    },
    'a program to launch': {
      bytes: () =>
        pagePdf({ catalog: `/OpenAction<</S/Launch/F ${file}/Win<</F(touch ${secretFile}.ran)>>>>` }),
      codes: ['read'],
    },
    'a font with code': {
      bytes: () =>
        pagePdf({
          resources: '/Font<</F1 6 0 R>>',
          more: [
            '<</Type/Font/Subtype/TrueType/BaseFont/X/FontMatrix[1 0 0 1 0 (0\\); globalThis.owned = true; \\()]/FontDescriptor 7 0 R>>',
            '<</Type/FontDescriptor/FontName/X/FontFile2 8 0 R/Flags 4>>',
            { dict: '', stream: 'not a font' },
          ],
        }),
      codes: ['read', 'malformed', 'no-text'],
    },
  }
  return Object.entries(cases).map(([name, each]) => ({ source: `${name}.pdf`, ...each }))
}

/** Each form draws the next one ten times. */
function formsBelow(levels: number): readonly PdfObject[] {
  return Array.from({ length: levels }, (_, at) => ({
    dict: `/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F1 5 0 R>>/XObject<</X${at + 7} ${at + 7} 0 R>>>>`,
    stream: at === levels - 1 ? HELLO : `/X${at + 7} Do `.repeat(10),
  })).concat([{ dict: '', stream: FONT }])
}
