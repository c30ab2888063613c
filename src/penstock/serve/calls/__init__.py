"""The handlers of the HTTP calls, and the OpenAPI document of them."""
