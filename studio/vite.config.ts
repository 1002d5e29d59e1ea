/** The build of the page: relative addresses, nothing inline, no source maps; `holdfast/client` is the client's source. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  resolve: {
    alias: { 'holdfast/client': fileURLToPath(new URL('../src/client/index.ts', import.meta.url)) },
  },
  build: {
    outDir: fileURLToPath(new URL('../dist/page', import.meta.url)),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    license: { fileName: 'licenses.md' },
  },
})
