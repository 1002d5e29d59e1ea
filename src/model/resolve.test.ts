/** From a name to a model: its package, its key, and the errors when something is missing. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import type { LanguageModel, ModelRef, ResolveOptions } from './index.ts'
import { modelName, resolveModel } from './index.ts'
import { ollamaURL } from './vendors.ts'

const env = { OPENAI_API_KEY: 'o', ANTHROPIC_API_KEY: 'a', GOOGLE_GENERATIVE_AI_API_KEY: 'g' }

/** Stands for all packages, and reports the arguments of each. */
async function asked(name: string, options: ResolveOptions = {}, variables: NodeJS.ProcessEnv = env) {
  let seen: object = {}
  const load = (packageName: string) => {
    const factory = (settings: object) => (modelId: string) => {
      seen = { package: packageName, settings, modelId }
      return { specificationVersion: 'v4', provider: 'x', modelId, doStream: () => {} }
    }
    return Promise.resolve({
      createOpenAI: factory,
      createAnthropic: factory,
      createGoogleGenerativeAI: factory,
      createOpenAICompatible: factory,
    })
  }
  await resolveModel(name, options, { load, env: variables })
  return seen
}

const compatible = '@ai-sdk/openai-compatible'

describe('a name', () => {
  it.each([
    ['openai/gpt-4.1', '@ai-sdk/openai', 'o'],
    ['gpt-4.1-mini', '@ai-sdk/openai', 'o'],
    ['chatgpt-4o-latest', '@ai-sdk/openai', 'o'],
    ['o3', '@ai-sdk/openai', 'o'],
    ['o4-mini', '@ai-sdk/openai', 'o'],
    ['anthropic/claude-sonnet-4-5', '@ai-sdk/anthropic', 'a'],
    ['claude-haiku-4-5', '@ai-sdk/anthropic', 'a'],
    ['google/gemini-2.5-pro', '@ai-sdk/google', 'g'],
    ['gemini-2.5-flash', '@ai-sdk/google', 'g'],
  ])('%s is a model of %s', async (name, packageName, apiKey) => {
    const modelId = name.split('/').at(-1)
    expect(await asked(name)).toEqual({ package: packageName, settings: { apiKey }, modelId })
  })

  it('of a vendor takes a key, an address and headers from the options', async () => {
    const options = { apiKey: 'k', baseURL: 'https://proxy/v1', headers: { a: 'b' } }
    expect(await asked('openai/gpt-4.1', options, {})).toMatchObject({
      package: '@ai-sdk/openai',
      settings: options,
    })
  })

  it('of Ollama needs no key, and finds it where Ollama says', async () => {
    const at = (baseURL: string) => ({
      package: compatible,
      settings: { name: 'ollama', includeUsage: true, baseURL },
      modelId: 'llama3.2',
    })
    expect(await asked('ollama/llama3.2', {}, {})).toEqual(at('http://localhost:11434/v1'))
    expect(await asked('ollama/llama3.2', {}, { OLLAMA_HOST: 'http://gpu:1' })).toEqual(at('http://gpu:1/v1'))
    expect(await asked('ollama/llama3.2', { baseURL: 'http://b/v1' }, {})).toEqual(at('http://b/v1'))
  })

  it.each([
    ['openai-compatible/my/model', 'my/model'],
    ['meta-llama/llama-3', 'meta-llama/llama-3'],
    ['qwen3', 'qwen3'],
  ])('%s is whatever answers at the baseURL', async (name, modelId) => {
    const settings = { name: 'openai-compatible', includeUsage: true, baseURL: 'http://x/v1' }
    expect(await asked(name, { baseURL: 'http://x/v1' }, {})).toEqual({
      package: compatible,
      settings,
      modelId,
    })
  })
})

describe('Ollama', () => {
  it.each([
    [undefined, 'http://localhost:11434/v1'],
    ['gpu', 'http://gpu:11434/v1'],
    ['gpu:80', 'http://gpu/v1'],
    ['0.0.0.0:11434', 'http://localhost:11434/v1'],
    [':8080', 'http://localhost:8080/v1'],
    ['0.0.0.0:8080/', 'http://localhost:8080/v1'],
    ['gpu:8080/ollama', 'http://gpu:8080/ollama/v1'],
    [' "gpu" ', 'http://gpu:11434/v1'],
    ['::1', 'http://[::1]:11434/v1'],
    ['[::]:8080', 'http://localhost:8080/v1'],
    ['', 'http://localhost:11434/v1'],
    ['not a host', 'http://localhost:11434/v1'],
    ['https://gpu.example/ollama/', 'https://gpu.example/ollama/v1'],
    ['http://gpu:1/v1', 'http://gpu:1/v1'],
  ])('at %s is %s', (host, url) => {
    expect(ollamaURL(host)).toBe(url)
  })
})

describe('what cannot be resolved', () => {
  function refusal(
    ref: unknown,
    options: ResolveOptions = {},
    ports: object = { env: {} },
  ): Promise<unknown> {
    return resolveModel(ref as ModelRef, options, ports).then(
      () => 'resolved',
      (error: unknown) => error,
    )
  }

  it.each([
    ['opnai/gpt-4', 'openai/gpt-4.1-mini'],
    ['sonnet', 'anthropic/claude-sonnet-4-5'],
    ['flash', 'google/gemini-2.5-flash'],
    ['llama3', 'ollama/llama3.2'],
    ['', 'openai/gpt-4.1-mini'],
    ['openai/', 'openai/gpt-4.1-mini'],
  ])('an unknown name %j is told the forms and the nearest example', async (name, example) => {
    expect(await refusal(name)).toMatchObject({
      code: 'unknown-model',
      message: `No vendor is known for the model "${name}". Names are openai/…, anthropic/…, google/…, ollama/…, bare gpt-…, o3…, claude-… and gemini-…, or any name together with baseURL for an OpenAI-compatible server. For example "${example}".`,
    })
  })

  it.each([
    ['openai/gpt-4.1', 'OPENAI_API_KEY'],
    ['claude-sonnet-4-5', 'ANTHROPIC_API_KEY'],
    ['google/gemini-2.5-pro', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ])('%s without a key is told the variable', async (name, variable) => {
    expect(await refusal(name)).toMatchObject({
      code: 'missing-key',
      message: `The model "${modelName(name)}" needs a key: set ${variable} in the environment, or pass apiKey.`,
    })
  })

  it('a package that is not there is told the line that installs it', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    const ports = { env, load: () => Promise.reject(missing) }
    expect(await refusal('google/gemini-2.5-pro', {}, ports)).toMatchObject({
      code: 'missing-package',
      message:
        'The model "google/gemini-2.5-pro" needs the package @ai-sdk/google, which is not installed: npm install @ai-sdk/google',
    })
    expect(await refusal('openai/gpt-4.1', {}, { env: {}, load: ports.load })).toMatchObject({
      code: 'missing-package',
      message:
        'The model "openai/gpt-4.1" needs the package @ai-sdk/openai, which is not installed, and a key: npm install @ai-sdk/openai, and set OPENAI_API_KEY in the environment, or pass apiKey.',
      details: { package: '@ai-sdk/openai', variable: 'OPENAI_API_KEY' },
    })
    const old = { env, load: () => Promise.resolve({}) }
    expect(await refusal('gpt-4.1', {}, old)).toMatchObject({
      code: 'missing-package',
      message:
        'The installed @ai-sdk/openai has no createOpenAI; its version does not fit: npm install @ai-sdk/openai@latest',
    })
  })

  it('a compatible server without an address is asked for one', async () => {
    expect(await refusal('openai-compatible/x')).toMatchObject({
      code: 'invalid-option',
      message:
        'The model "openai-compatible/x" has no known endpoint: pass baseURL, such as http://localhost:8000/v1.',
    })
  })

  it('an object that is no model of version 3 or 4 is refused', async () => {
    const old = { specificationVersion: 'v2', provider: 'acme', modelId: 'm', doStream: () => {} }
    expect(await refusal(old)).toMatchObject({
      code: 'invalid-option',
      message:
        'The model "m" of "acme" has interface version "v2"; v3 and v4 are understood. Update the package it comes from: npm install @ai-sdk/acme@latest',
    })
    expect(await refusal({ ...old, provider: 'google.generative-ai' })).toMatchObject({
      message: expect.stringContaining('npm install @ai-sdk/google@latest'),
      details: { version: 'v2', package: '@ai-sdk/google' },
    })
    const messages: unknown[] = []
    for (const ref of [undefined, null, 7, {}, { model: 'x' }, () => {}]) {
      messages.push(((await refusal(ref)) as Error).message.split('. ')[0])
    }
    expect(messages).toEqual([
      'This is not a model: a value of type undefined',
      'This is not a model: null',
      'This is not a model: a value of type number',
      'This is not a model: an empty object',
      'This is not a model: an object with model',
      'This is not a model: a function (a provider has to be called with the name of a model)',
    ])
  })

  it('an object that is one is itself', async () => {
    const model = { specificationVersion: 'v4', provider: 'acme.x', modelId: 'm', doStream: () => {} }
    expect(await resolveModel(model as unknown as LanguageModelV4)).toBe(model)
  })
})

describe('the name of a model', () => {
  it.each([
    ['openai/gpt-4.1', 'openai/gpt-4.1'],
    ['gpt-4.1', 'openai/gpt-4.1'],
    ['claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    ['ollama/qwen3:8b', 'ollama/qwen3:8b'],
    ['meta-llama/llama-3', 'openai-compatible/meta-llama/llama-3'],
  ])('%s is %s', (name, full) => {
    expect(modelName(name)).toBe(full)
  })

  it('is the first word of the provider and the model, for an object', () => {
    const named = (provider: string, modelId: string) => ({ provider, modelId }) as LanguageModel
    expect(modelName(named('openai.responses', 'gpt-4.1'))).toBe('openai/gpt-4.1')
    expect(modelName(named('mistral', 'large'))).toBe('mistral/large')
  })
})

describe('the real packages', () => {
  it.each([
    ['openai/gpt-4.1', 'openai.responses', {}],
    ['anthropic/claude-sonnet-4-5', 'anthropic.messages', {}],
    ['google/gemini-2.5-pro', 'google.generative-ai', {}],
    ['ollama/llama3.2', 'ollama.chat', {}],
    ['openai-compatible/my-model', 'openai-compatible.chat', { baseURL: 'http://localhost:1/v1' }],
  ])('make of %s a model of %s that is called as before', async (name, provider, options) => {
    const model = await resolveModel(name, options, { env })
    expect([model.provider, modelName(model)]).toEqual([provider, name])
  })
})
