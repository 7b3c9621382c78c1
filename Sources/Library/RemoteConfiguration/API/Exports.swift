// An app that imports this module also gets the service and its configuration.
@_exported import RemoteSettings
