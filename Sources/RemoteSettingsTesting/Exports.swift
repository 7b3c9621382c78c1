// What a test of an app writes to, and what the app reads: a test imports one module.
@_exported import InMemoryOrigin
@_exported import RemoteConfiguration
