// A test imports this module, and gets the test server and the library that the app uses.
@_exported import RemoteConfiguration
