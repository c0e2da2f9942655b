"""Tables, figures and pages made from outcomes."""
