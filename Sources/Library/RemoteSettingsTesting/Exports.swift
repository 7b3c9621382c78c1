// A test imports one module, and gets the server that it writes to and the library that the app reads.
@_exported import RemoteConfiguration
