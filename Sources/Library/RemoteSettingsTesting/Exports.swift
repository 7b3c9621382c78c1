// A test that imports this module also gets the library that the app uses.
@_exported import RemoteConfiguration
